"""Pages: the site, its navigation, and the HTML of each page."""
