"""The campaigns of a shop. The package has the name of one of Drumbeat's folders, and must hide nothing."""
