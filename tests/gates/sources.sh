# Sourced by the gates: `sources ROOT` prints the project's own source files, one a line.
sources() {
  (cd "$1" && find autograd backends nn optim apps tests -type f \
    \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) 2>/dev/null | sort)
}

# The other text files that people edit.
other_texts() {
  (cd "$1" && { ls CMakeLists.txt CMakePresets.json README.md demo.sh test.sh .ci/* 2>/dev/null
    find autograd backends nn optim apps tests docs -type f \
      \( -name 'CMakeLists.txt' -o -name '*.cmake' -o -name '*.sh' -o -name '*.py' \
         -o -name '*.md' \) 2>/dev/null; } | sort)
}
