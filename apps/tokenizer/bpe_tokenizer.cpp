#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "apps/tokenizer/bpe_files.h"
#include "apps/tokenizer/bpe_merger.h"
#include "apps/tokenizer/bpe_model.h"
#include "apps/tokenizer/piece_cache.h"
#include "apps/tokenizer/piece_index.h"
#include "apps/tokenizer/piece_key.h"
#include "apps/tokenizer/piece_splitter.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

// What one thread needs while it encodes.
struct Workspace {
  explicit Workspace(SplitRule rule) : splitter(rule) {}

  PieceSplitter splitter;
  const PieceIndex* index = nullptr;  // none yet
  ShortPieceCache short_pieces;
  LongPieceCache long_pieces;
};

// Keeps workspaces between calls, so that short texts profit from the caches too.
class WorkspacePool {
 public:
  std::unique_ptr<Workspace> take(SplitRule rule) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Workspace>(rule);
    std::unique_ptr<Workspace> workspace = std::move(free_.back());
    free_.pop_back();
    return workspace;
  }

  void give_back(std::unique_ptr<Workspace> workspace) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(workspace));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> free_;
};

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(BpeModel model);

  std::string kind() const override { return "bpe"; }
  int32_t vocab_size() const override { return static_cast<int32_t>(model_.tokens.size()); }

  std::string token_bytes(int32_t id) const override {
    require(id >= 0 && id < vocab_size(), "tokenizer", "token id {} is outside 0 .. {}", id,
            vocab_size() - 1);
    return model_.tokens[static_cast<size_t>(id)];
  }

  std::optional<int32_t> begin_of_text() const override { return model_.begin_of_text; }

 private:
  void encode_plain(std::string_view text, std::vector<int32_t>& ids) const override;
  void append_short(const PieceKey& key, std::string_view piece, Workspace& workspace,
                    std::vector<int32_t>& ids) const;
  void append_long(std::string_view piece, Workspace& workspace, std::vector<int32_t>& ids) const;
  const PieceIndex* index_for(size_t bytes) const;
  std::unique_ptr<PieceIndex> make_index() const;

  size_t plain_cut(std::string_view text) const override { return last_safe_cut(text); }
  std::string to_json() const override { return bpe_to_json(model_); }
  void save_extra(const std::filesystem::path& dir) const override { save_gpt2(model_, dir); }
  std::string rules() const override;

  BpeModel model_;
  BpeMerger merger_;
  mutable WorkspacePool workspaces_;
  mutable std::atomic<size_t> encoded_bytes_{0};
  mutable std::once_flag index_once_;
  mutable std::unique_ptr<const PieceIndex> index_;
};

// Checks everything that the encoder relies on; gives the id of each byte.
std::array<int32_t, 256> checked_byte_ids(const BpeModel& model) {
  const auto size = static_cast<int64_t>(model.tokens.size());
  require(size <= (int64_t{1} << 24), "tokenizer", "a vocabulary of {} is more than 2^24", size);
  const auto in_range = [size](int64_t id) { return id >= 0 && id < size; };
  std::vector<bool> is_added(model.tokens.size());
  for (const AddedToken& token : model.added) {
    require(in_range(token.id), "tokenizer", "added token {} has id {}, outside 0 .. {}",
            token.text, token.id, size - 1);
    is_added[static_cast<size_t>(token.id)] = true;
  }
  std::array<int32_t, 256> byte_ids;
  byte_ids.fill(-1);
  for (size_t id = 0; id < model.tokens.size(); ++id) {
    const std::string& bytes = model.tokens[id];
    if (bytes.size() == 1 && !is_added[id]) {
      byte_ids[static_cast<uint8_t>(bytes[0])] = static_cast<int32_t>(id);
    }
  }
  for (size_t byte = 0; byte < byte_ids.size(); ++byte) {
    require(byte_ids[byte] >= 0, "tokenizer",
            "the vocabulary has no token for byte 0x{:02x}; a byte-level BPE needs all 256", byte);
  }
  for (size_t i = 0; i < model.merges.size(); ++i) {
    const Merge& merge = model.merges[i];
    require(in_range(merge.left) && in_range(merge.right) && in_range(merge.product), "tokenizer",
            "merge {} has an id outside 0 .. {}", i, size - 1);
    const auto token = [&](int32_t id) -> const std::string& {
      return model.tokens[static_cast<size_t>(id)];
    };
    const std::string& left = token(merge.left);
    const std::string& right = token(merge.right);
    const std::string& product = token(merge.product);
    require(product.size() == left.size() + right.size() && product.starts_with(left) &&
                product.ends_with(right),
            "tokenizer", "merge {} does not give the two parts in a row", i);
  }
  return byte_ids;
}

BpeTokenizer::BpeTokenizer(BpeModel model)
    : Tokenizer(model.added), model_(std::move(model)), merger_(model_, checked_byte_ids(model_)) {
  require(!merger_.has_duplicate(), "tokenizer", "merge {} is listed a second time",
          merger_.duplicate_rank());
}

// Building the index takes longer than merging a short text, so that a tokenizer gets one only
// after it has seen some text, or where merging would not give the same ids.
const PieceIndex* BpeTokenizer::index_for(size_t bytes) const {
  constexpr size_t kWorthAnIndex = size_t{64} << 10;
  const size_t seen = encoded_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (seen < kWorthAnIndex && !model_.ignore_merges) return nullptr;
  std::call_once(index_once_, [this] { index_ = make_index(); });
  return index_.get();
}

// A token is found as a whole only where merging its bytes would give it, unless the model says
// that merges do not matter then.
std::unique_ptr<PieceIndex> BpeTokenizer::make_index() const {
  auto index = std::make_unique<PieceIndex>(model_.tokens.size());
  std::vector<bool> is_added(model_.tokens.size());
  for (const AddedToken& token : added_tokens()) is_added[static_cast<size_t>(token.id)] = true;
  std::vector<int32_t> ids;
  for (size_t i = 0; i < model_.tokens.size(); ++i) {
    const std::string& bytes = model_.tokens[i];
    if (is_added[i] || bytes.empty()) continue;
    const auto id = static_cast<int32_t>(i);
    ids.clear();
    if (!model_.ignore_merges) merger_.append(bytes, ids);
    const bool merges_to_itself = ids.size() == 1 && ids[0] == id;
    if (model_.ignore_merges || merges_to_itself) index->insert(bytes, id);
  }
  return index;
}

void BpeTokenizer::encode_plain(std::string_view text, std::vector<int32_t>& ids) const {
  std::unique_ptr<Workspace> workspace = workspaces_.take(model_.rule);
  workspace->index = index_for(text.size());
  const char* const text_end = text.data() + text.size();
  workspace->splitter.for_each(text, [&](const char* begin, const char* end) {
    const std::string_view piece(begin, static_cast<size_t>(end - begin));
    if (piece.size() > PieceKey::kLongest) {
      append_long(piece, *workspace, ids);
    } else {
      append_short(make_piece_key(begin, piece.size(), text_end), piece, *workspace, ids);
    }
  });
  workspaces_.give_back(std::move(workspace));
}

inline void BpeTokenizer::append_short(const PieceKey& key, std::string_view piece,
                                       Workspace& workspace, std::vector<int32_t>& ids) const {
  const uint64_t hash = key.hash();
  const int32_t id = workspace.index == nullptr ? -1 : workspace.index->find(key, hash);
  if (id >= 0) {
    ids.push_back(id);
    return;
  }
  if (const auto known = workspace.short_pieces.find(key, hash); !known.empty()) {
    ids.insert(ids.end(), known.begin(), known.end());
    return;
  }
  const size_t before = ids.size();
  merger_.append(piece, ids);
  workspace.short_pieces.store(key, hash, std::span(ids).subspan(before));
}

void BpeTokenizer::append_long(std::string_view piece, Workspace& workspace,
                               std::vector<int32_t>& ids) const {
  const int32_t id = workspace.index == nullptr ? -1 : workspace.index->find_long(piece);
  if (id >= 0) {
    ids.push_back(id);
    return;
  }
  if (const auto known = workspace.long_pieces.find(piece); !known.empty()) {
    ids.insert(ids.end(), known.begin(), known.end());
    return;
  }
  const size_t before = ids.size();
  merger_.append(piece, ids);
  workspace.long_pieces.store(piece, std::span(ids).subspan(before));
}

std::string BpeTokenizer::rules() const {
  std::string text = fmt::format("bpe {} ignore_merges {} begin {}\n", split_rule_name(model_.rule),
                                 model_.ignore_merges ? 1 : 0, model_.begin_of_text.value_or(-1));
  for (const Merge& merge : model_.merges) text += fmt::format("{} {}\n", merge.left, merge.right);
  return text;
}

}  // namespace

std::unique_ptr<Tokenizer> make_bpe_tokenizer(BpeModel model) {
  return std::make_unique<BpeTokenizer>(std::move(model));
}

}  // namespace tapir::app
