"""whet: an eager tensor framework that sharpens itself."""
