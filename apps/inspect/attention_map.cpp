#include "apps/inspect/attention_map.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"

namespace tapir::app {

AttentionMap attention_map(const std::string& layer, const Tensor& q, const Tensor& k,
                           int64_t most) {
  const NoGrad pause;
  const int64_t heads = q.size(1), width = q.size(3), group = heads / k.size(1);
  AttentionMap map{layer, heads, std::min(q.size(2), most), {}};
  const auto rows = [&](const Tensor& x) {
    return slice(slice(detach(x), 0, 0, 1), 2, 0, map.tokens).to_vector();
  };
  const std::vector<double> queries = rows(q), keys = rows(k);
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  std::vector<double> scores;
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t t = 0; t < map.tokens; ++t) {
      const double* query = queries.data() + (head * map.tokens + t) * width;
      scores.clear();
      for (int64_t s = 0; s <= t; ++s) {
        const double* key = keys.data() + (head / group * map.tokens + s) * width;
        double product = 0;
        for (int64_t d = 0; d < width; ++d) product += query[d] * key[d];
        scores.push_back(product * scale);
      }
      const double top = *std::max_element(scores.begin(), scores.end());
      double total = 0;
      for (double& score : scores) total += score = std::exp(score - top);
      for (const double score : scores) {
        const double share = std::isfinite(score / total) ? score / total : 0;
        map.probabilities.push_back(static_cast<uint8_t>(std::lround(255 * share)));
      }
    }
  }
  return map;
}

}  // namespace tapir::app
