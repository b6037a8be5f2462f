// The program of a link test: it does nothing; that it links is the test.
int main() { return 0; }
