"""The studio: a site for the people who run surveys. It reads disguised records only."""
