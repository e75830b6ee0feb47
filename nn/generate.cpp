#include "nn/generate.h"

#include <algorithm>
#include <optional>

#include "autograd/ops.h"
#include "nn/token_step.h"

namespace tapir::nn {
namespace {

constexpr std::string_view kOp = "generate";

struct Row {
  std::vector<int32_t> ids;  // prompt and new ones
  Generator generator;
  bool finished = false;
};

void check(const TransformerConfig& config, const std::vector<std::vector<int32_t>>& prompts,
           const GenerateOptions& options) {
  require(options.max_new_tokens >= 0, kOp, "max_new_tokens is {}, must be at least 0",
          options.max_new_tokens);
  options.sampling.validate();
  const auto in_vocabulary = [&](int32_t id) { return id >= 0 && id < config.vocab_size; };
  require(in_vocabulary(options.pad_id), kOp, "pad_id {} is outside of the vocabulary of {}",
          options.pad_id, config.vocab_size);
  for (const int32_t id : options.end_of_text) {
    require(in_vocabulary(id), kOp, "end_of_text {} is outside of the vocabulary of {}", id,
            config.vocab_size);
  }
  for (size_t row = 0; row < prompts.size(); ++row) {
    require(!prompts[row].empty(), kOp, "prompt {} is empty; give at least one id", row);
    for (size_t i = 0; i < prompts[row].size(); ++i) {
      require(in_vocabulary(prompts[row][i]), kOp,
              "prompt {} has id {} at position {}, outside of the vocabulary of {}", row,
              prompts[row][i], i, config.vocab_size);
    }
  }
}

// Runs the model on the rows as they grow. Rows are aligned at their last id: shorter ones are
// padded on the left, where the mask hides them, and count their positions from their own start.
class BatchRunner {
 public:
  BatchRunner(const TransformerLM& model, size_t rows, const GenerateOptions& options)
      : model_(model),
        batch_(static_cast<int64_t>(rows)),
        options_(options),
        has_step_(TokenStep::supports(model)) {}

  // Logits of the token that follows each row, [B, V], dense f32 or f64 in the host's memory, until
  // the next call.
  Tensor next_logits(const std::vector<Row>& rows) {
    const bool continues = cache_ && cache_->length() > 0 && cache_->length() < cache_->capacity();
    if (!continues) return recompute_window(rows);
    return has_step_ ? step(rows) : run(rows, 1, cache_->length());
  }

 private:
  Device device() const { return model_.token_embeddings.weight.device(); }

  // The last max_seq_len ids of every row, from nothing.
  Tensor recompute_window(const std::vector<Row>& rows) {
    const int64_t limit = model_.config().max_seq_len;
    std::vector<int64_t> lengths;
    for (const Row& row : rows) {
      lengths.push_back(std::min(static_cast<int64_t>(row.ids.size()), limit));
    }
    const int64_t width = *std::max_element(lengths.begin(), lengths.end());
    padding_.clear();
    for (const int64_t length : lengths) padding_.push_back(width - length);
    if (options_.use_cache && !cache_) {
      const int64_t wanted = std::min(options_.max_new_tokens, limit) + width;
      cache_ = model_.make_cache(batch_, std::min(wanted, limit));
    }
    if (cache_) cache_->clear();
    return run(rows, width, 0);
  }

  Tensor step(const std::vector<Row>& rows) {
    if (!step_) step_.emplace(model_, batch_);
    const int64_t start = cache_->length();
    const Columns columns = last_columns(rows, 1, start);
    return step_->logits(columns.ids, columns.positions, padding_mask(start + 1), *cache_);
  }

  // The last `count` columns of the aligned rows, behind `start` columns in the cache.
  Tensor run(const std::vector<Row>& rows, int64_t count, int64_t start) {
    const Columns columns = last_columns(rows, count, start);
    ForwardContext context;
    context.positions = Tensor::from(columns.positions, {batch_, count}, device());
    context.mask = padding_mask(start + count);
    context.cache = cache_ ? &*cache_ : nullptr;
    const Tensor hidden =
        model_.hidden(Tensor::from(columns.ids, {batch_, count}, device()), context);
    const Tensor logits = model_.logits(select(hidden, 1, count - 1));
    const bool wide = logits.dtype() == DType::f64 || logits.dtype() == DType::f32;
    return contiguous(to(wide ? logits : to(logits, DType::f32), kCpu));
  }

  struct Columns {
    std::vector<int32_t> ids, positions;  // [B, count]
  };

  Columns last_columns(const std::vector<Row>& rows, int64_t count, int64_t start) const {
    Columns columns;
    for (size_t row = 0; row < rows.size(); ++row) {
      const std::vector<int32_t>& all = rows[row].ids;
      for (int64_t column = 0; column < count; ++column) {
        const int64_t position = start + column - padding_[row];
        const int64_t from_end = count - column;
        columns.ids.push_back(position < 0 ? 0 : all[all.size() - static_cast<size_t>(from_end)]);
        columns.positions.push_back(static_cast<int32_t>(std::max<int64_t>(position, 0)));
      }
    }
    return columns;
  }

  // [B, 1, 1, S], true where a row has an id; undefined when all rows are equally long.
  Tensor padding_mask(int64_t columns) const {
    if (std::all_of(padding_.begin(), padding_.end(), [](int64_t n) { return n == 0; })) return {};
    std::vector<double> keep;
    for (const int64_t padded : padding_) {
      for (int64_t column = 0; column < columns; ++column) keep.push_back(column >= padded);
    }
    return Tensor::from(keep, {batch_, 1, 1, columns}, DType::boolean, device());
  }

  const TransformerLM& model_;
  int64_t batch_;
  const GenerateOptions& options_;
  bool has_step_;  // whether a token has a pass of its own
  std::optional<KvCache> cache_;
  std::optional<TokenStep> step_;
  std::vector<int64_t> padding_;  // columns before each row's first id
};

// Chooses the next id of a row, appends it everywhere, and finishes the row if it says so.
void extend(Row& row, int64_t index, const Tensor& logits, Generation& result,
            const GenerateOptions& options) {
  const auto i = static_cast<size_t>(index);
  int32_t id = options.pad_id;
  if (!row.finished) {
    id = sample_token(logits.view(), row.ids, options.sampling, row.generator);
    row.finished = std::count(options.end_of_text.begin(), options.end_of_text.end(), id) > 0;
    if (!row.finished) ++result.lengths[i];
    if (options.on_logits) options.on_logits(index, id, logits.to_vector());
    if (options.on_token && !options.on_token(index, id)) row.finished = true;
  }
  row.ids.push_back(id);
  result.ids[i].push_back(id);
}

}  // namespace

Generation generate(const TransformerLM& model, const std::vector<std::vector<int32_t>>& prompts,
                    const GenerateOptions& options) {
  check(model.config(), prompts, options);
  NoGrad pause;
  std::vector<Row> rows;
  for (const auto& prompt : prompts)
    rows.push_back({prompt, Generator(options.seed + rows.size())});
  Generation result{std::vector<std::vector<int32_t>>(rows.size()),
                    std::vector<int64_t>(rows.size(), 0)};
  BatchRunner runner(model, rows.size(), options);
  const auto all_finished = [&] {
    return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.finished; });
  };
  for (int64_t step = 0; step < options.max_new_tokens && !all_finished(); ++step) {
    const Tensor logits = runner.next_logits(rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto index = static_cast<int64_t>(i);
      extend(rows[i], index, select(logits, 0, index), result, options);
    }
  }
  return result;
}

}  // namespace tapir::nn
