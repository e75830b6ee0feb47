// The built-in corpus as a dataset.
#pragma once

#include "apps/data/dataset.h"

namespace tapir::app {

// Stories for training and others for validation, from the same generator. Each validation window
// begins with a story, as the floor assumes: a window from the middle of one knows less than the
// generator did.
Dataset load_story_dataset(const RunConfig& config, std::shared_ptr<const Tokenizer> tokenizer);

// The first validation story's index; training stories come before.
inline constexpr uint64_t kFirstValidationStory = uint64_t{1} << 40;

}  // namespace tapir::app
