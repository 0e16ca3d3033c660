// A command for `stream` that tries an attack for each line of its input. For tests/cluster/rooms_test.cc.
#include <iostream>
#include <string>

#include "tests/cluster/lib/attacks.h"

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << line << "\t" << mr::test::TryAttack(line) << "\n";
  }
}
