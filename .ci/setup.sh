# Sourced by demo.sh and test.sh: installs what is missing with apt, and chooses build settings.

# setup_packages PACKAGE...: asks apt only for what is not there yet, and apt only if needed.
setup_packages() {
  local missing=() package sudo=""
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2> /dev/null | grep -q 'install ok installed' ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! command -v apt-get > /dev/null; then
    echo "setup: this system has no apt-get; install these yourself: ${missing[*]}" >&2
    return 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo > /dev/null; then
      echo "setup: run as root or install these yourself: ${missing[*]}" >&2
      return 1
    fi
    sudo=sudo
  fi
  echo "setup: installing ${missing[*]}"
  local attempt
  for attempt in 1 2 3; do
    $sudo apt-get update -qq && $sudo env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "${missing[@]}" < /dev/null > /dev/null &&
      return 0
    echo "setup: apt-get failed, attempt $attempt of 3" >&2
    sleep $((5 * attempt))
  done
  return 1
}

# What it takes to build the program and its tests.
build_packages=(g++ cmake ninja-build libopenblas0-openmp libfmt-dev libcli11-dev
  nlohmann-json3-dev libpcre2-dev zlib1g-dev libzstd-dev libgtest-dev libgmock-dev)

# And what the build for sanitizers and coverage takes besides. Some releases have the run-time
# libraries of the sanitizers in a package of their own.
setup_clang() {
  setup_packages clang llvm lld || return 1
  [ -e "$(clang++ -print-file-name=libclang_rt.asan-x86_64.a)" ] || setup_packages libclang-rt-dev
}

jobs=$(nproc)
if command -v ccache > /dev/null; then
  # The sloppiness lets it store what was compiled with precompiled headers.
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache
  export CCACHE_SLOPPINESS=pch_defines,time_macros
fi

# Files of a library are compiled together: for whole builds, which these scripts mostly do.
build_options=(-DTAPIR_UNITY=ON)

# build PRESET [TARGET...]: configures and builds in build/PRESET; quiet unless it fails.
build() {
  local preset=$1 log=build/$1.log
  shift
  mkdir -p build
  cmake --preset "$preset" "${build_options[@]}" > "$log" 2>&1 &&
    cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"} >> "$log" 2>&1 && return 0
  grep -E 'error|Error|FAILED|undefined reference' -A 8 "$log" | head -60 >&2
  echo "build: $preset failed; all of its output is in $log" >&2
  return 1
}
