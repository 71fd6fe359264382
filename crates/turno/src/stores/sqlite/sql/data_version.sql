-- data_version
-- Changes only if another connection has written: that is how a command line's work beside us is noticed.
pragma data_version
