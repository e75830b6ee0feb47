// Cuts text that comes in portions into blocks that several threads can work on.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tapir::app {

// Memory stays bounded however long the text is: text is gathered up to a limit, beyond it only
// where there is no place to cut, and what is longer than the longest piece is cut anyway.
class TextBlocks {
 public:
  struct Block {
    std::string_view text;  // valid while the consumer runs; empty only at the end of a document
    bool ends_document = false;
  };

  // The largest place in a text where it may be cut whatever follows; 0 if there is none.
  using SafeCut = std::function<size_t(std::string_view)>;
  using Consumer = std::function<void(const std::vector<Block>&)>;

  // In bytes.
  struct Limits {
    size_t gathered = size_t{16} << 20;
    size_t block = size_t{256} << 10;
    size_t longest_piece = size_t{64} << 20;
  };

  TextBlocks(SafeCut safe_cut, Consumer consumer) : TextBlocks(safe_cut, consumer, Limits()) {}
  TextBlocks(SafeCut safe_cut, Consumer consumer, Limits limits);

  // The next portion of the current document; it may be cut anywhere.
  void add_text(std::string_view text);

  // No block reaches across this point.
  void end_document();

  // Hands out what is left. The last document counts as ended only if end_document was called.
  void finish() { hand_out(true); }

 private:
  void hand_out(bool all);

  // Appends the blocks of `text`; gives the length of a rest that may go on, 0 if `complete`.
  size_t cut(std::string_view text, bool complete, std::vector<Block>& blocks) const;

  SafeCut safe_cut_;
  Consumer consumer_;
  Limits limits_;
  std::string buffer_;
  size_t buffer_limit_;
  std::vector<size_t> document_ends_;  // positions in buffer_
};

}  // namespace tapir::app
