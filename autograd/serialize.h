// Tensors in files: the safetensors format, which the rest of the world reads. A file is the
// length of a JSON header (u64, little endian), the header, and the tensors' bytes.
// Source: https://github.com/huggingface/safetensors, "Format".
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "autograd/state_dict.h"

namespace tapir {

using Metadata = std::map<std::string, std::string>;

struct SafetensorsFile {
  StateDict tensors;  // on the CPU
  Metadata metadata;
};

// Missing, truncated, foreign, overlapping or oversized content is an Error that names the file and
// what is wrong. Dtypes F64, F32, BF16, F16, I32 and BOOL. The tensors are the mapped file itself
// where its alignment allows, so that opening a large file takes no time; writing to them changes
// memory and never the file, which must not be shortened meanwhile.
SafetensorsFile load_safetensors(const std::filesystem::path& path);

// Writes to a temporary name beside `path`, syncs it to the disk and renames it, so that a reader
// sees the old file or the new one and never half of either.
void save_safetensors(const std::filesystem::path& path, const StateDict& tensors,
                      const Metadata& metadata = {});

// The same for any bytes.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace tapir
