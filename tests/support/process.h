// The program as a user runs it: real processes, real files.
#pragma once

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/temporary_folder.h"

namespace tapir::testing {

struct ProcessResult {
  int status = -1;  // of the exit; 128 + n for signal n
  std::string out, err;
};

struct ProcessOptions {
  std::string input;                         // on standard input
  std::function<void()> in_child = nullptr;  // before the program starts: limits, folders
  bool terminal = false;                     // output and errors go to a pseudo-terminal: `out`
};

// A running program. Its output is collected while waiting.
class Process {
 public:
  Process(const std::string& program, const std::vector<std::string>& arguments,
          const ProcessOptions& options = {}) {
    std::array<int, 2> out{}, err{};
    input_ = tmpfile();
    fwrite(options.input.data(), 1, options.input.size(), input_);
    rewind(input_);
    if (options.terminal) {
      winsize size{.ws_row = 24, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
      EXPECT_EQ(openpty(&out[0], &out[1], nullptr, nullptr, &size), 0);
      err[1] = dup(out[1]);
      err[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    } else {
      EXPECT_EQ(pipe(out.data()), 0);
      EXPECT_EQ(pipe(err.data()), 0);
    }
    std::vector<std::string> all{program};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& argument : all) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(fileno(input_), STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      dup2(err[1], STDERR_FILENO);
      for (const int descriptor : {out[0], out[1], err[0], err[1]}) close(descriptor);
      if (options.in_child) options.in_child();
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(out[1]);
    close(err[1]);
    out_ = out[0];
    err_ = err[0];
  }
  ~Process() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(out_);
    close(err_);
    fclose(input_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const { kill(pid_, signal); }

  // Reads until `text` is in the output (or the errors, if asked); false if the program ends
  // before.
  bool wait_for(const std::string& text, bool in_errors = false) {
    while ((in_errors ? result_.err : result_.out).find(text) == std::string::npos) {
      if (!read_some()) return false;
    }
    return true;
  }

  void close_output() { close(std::exchange(out_, -1)); }

  ProcessResult wait() {
    while (read_some()) {
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    result_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result_;
  }

 private:
  bool read_some() {
    std::array<pollfd, 2> files{{{out_, POLLIN, 0}, {err_, POLLIN, 0}}};
    if (out_ < 0 && err_ < 0) return false;
    poll(files.data(), files.size(), -1);
    for (auto& file : files) {
      if (file.fd < 0 || file.revents == 0) continue;
      std::array<char, 4096> buffer;
      const ssize_t count = read(file.fd, buffer.data(), buffer.size());
      std::string& text = file.fd == out_ ? result_.out : result_.err;
      if (count > 0) {
        text.append(buffer.data(), static_cast<size_t>(count));
      } else {
        close(std::exchange(file.fd == out_ ? out_ : err_, -1));
      }
    }
    return out_ >= 0 || err_ >= 0;
  }

  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;
  FILE* input_ = nullptr;
  ProcessResult result_;
};

#ifdef TAPIR_PROGRAM
inline ProcessResult run_tapir(const std::vector<std::string>& arguments,
                               const ProcessOptions& options = {}) {
  return Process(TAPIR_PROGRAM, arguments, options).wait();
}
#endif

}  // namespace tapir::testing
