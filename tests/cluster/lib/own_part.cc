// A shared library that operators need and that no submit sends.
int OwnPart();
int OwnPart() { return 0; }
