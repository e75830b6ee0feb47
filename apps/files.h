// Folders that appear whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tapir::app {

// Forces the names in a folder to the disk.
void sync_folder(const std::filesystem::path& folder);

// Moves `source` to `target` in one step that survives a crash; a folder that was there before is
// removed afterwards. Both must be in the same folder.
void move_folder_into_place(const std::filesystem::path& source,
                            const std::filesystem::path& target);

// A folder that could not be completed must not go on filling the disk.
struct RemovedUnlessMoved {
  std::filesystem::path folder;
  ~RemovedUnlessMoved();
};

// Makes `link` a symbolic link to `target` (relative to the link), replacing an earlier link in
// one step, or the folder that programs which follow links (scp, cp -L) have made of it. A file
// system that knows no links (FAT, some network shares) gets a file with the name of the target.
void replace_link(const std::filesystem::path& link, const std::filesystem::path& target);

// Where such a link leads, or the name in such a file, whatever ends its line; empty if there is
// neither.
std::filesystem::path link_target(const std::filesystem::path& link);

// To be called before a result that starts so replaces a file: one that starts otherwise, and is
// not empty, is somebody's text or weights, and an Error.
void require_replaceable(const std::filesystem::path& path, std::string_view start);

// 16 hexadecimal digits that change when the file does by accident; a missing or unreadable file is
// an Error.
std::string file_checksum(const std::filesystem::path& path);

}  // namespace tapir::app
