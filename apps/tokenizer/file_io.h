// Small files as strings.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tapir::app {

// The whole file. One that is missing, no regular file, unreadable or larger than 1 GiB is an
// Error.
std::string read_file(const std::filesystem::path& path);

// Replaces the file, or the one that it is a link to: written under a temporary name beside it,
// then renamed, so that a reader never sees half of it. Failure is an Error, and so is a device or
// pipe.
void write_file(const std::filesystem::path& path, std::string_view contents);

}  // namespace tapir::app
