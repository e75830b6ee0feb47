// Decoding: cache or not, alone or in a batch, past the context, end-of-text, callbacks, errors.
#include "nn/generate.h"

#include <cmath>

#include "tests/support/expect_error.h"
#include "tests/support/golden.h"
#include "tests/support/tiny_models.h"

namespace tapir::nn {
namespace {

using tapir::testing::expect_error;
using tapir::testing::NamedConfig;
using tapir::testing::randomize;
using tapir::testing::tiny_config;

using Ids = std::vector<int32_t>;
using Prompts = std::vector<Ids>;

// The definition: crop, forward pass, last position, choose, append.
Ids plain_decoding(const TransformerLM& model, Ids ids, const GenerateOptions& options,
                   uint64_t seed) {
  Generator generator(seed);
  const auto limit = static_cast<size_t>(model.config().max_seq_len);
  Ids chosen;
  for (int64_t step = 0; step < options.max_new_tokens; ++step) {
    const size_t count = std::min(ids.size(), limit);
    const std::span<const int32_t> window(ids.data() + ids.size() - count, count);
    const Tensor logits = model(Tensor::from(window, {1, static_cast<int64_t>(count)}));
    const std::vector<double> last = select(select(logits, 0, 0), 0, -1).to_vector();
    chosen.push_back(sample_token(last, ids, options.sampling, generator));
    ids.push_back(chosen.back());
  }
  return chosen;
}

TransformerLM random_model(const TransformerConfig& config, uint64_t seed,
                           DType dtype = DType::f64) {
  Generator generator(seed);
  TransformerLM model(config, generator, dtype);
  randomize(model, generator);
  return model;
}

class GenerateOption : public ::testing::TestWithParam<NamedConfig> {};

// Unequal prompts, some longer than the context of 8; 14 tokens take every row past it. Random
// draws compare every step's distribution more finely than argmax would.
TEST_P(GenerateOption, CacheAndBatchEqualThePlainLoop) {
  const TransformerLM model = random_model(GetParam().config, 41);
  const Prompts prompts{{1, 2, 3}, {4}, {5, 6, 7, 8, 9, 10, 11, 12, 0, 1, 2}, {3, 3, 3, 3, 3}};
  GenerateOptions options;
  options.max_new_tokens = 14;
  options.seed = 77;
  options.sampling.repetition_penalty = 1.2;
  options.sampling.top_k = 9;
  for (const double temperature : {0.0, 0.8}) {
    options.sampling.temperature = temperature;
    options.use_cache = true;
    const Generation cached = generate(model, prompts, options);
    options.use_cache = false;
    const Generation recomputed = generate(model, prompts, options);
    EXPECT_EQ(cached.ids, recomputed.ids);
    EXPECT_EQ(cached.lengths, std::vector<int64_t>(4, 14));
    for (size_t row = 0; row < prompts.size(); ++row) {
      EXPECT_EQ(cached.ids[row], plain_decoding(model, prompts[row], options, 77 + row))
          << "row " << row << " temperature " << temperature;
    }
  }
}

TEST_P(GenerateOption, ARowDoesNotDependOnItsNeighbours) {
  const TransformerLM model = random_model(GetParam().config, 42);
  GenerateOptions options;
  options.max_new_tokens = 10;
  options.sampling.temperature = 1.3;
  const Prompts prompts{{7, 1}, {2, 9, 4, 4, 1, 0, 12}, {5, 5, 5}};
  const Generation together = generate(model, prompts, options);
  for (size_t row = 0; row < prompts.size(); ++row) {
    GenerateOptions alone = options;
    alone.seed = options.seed + row;
    EXPECT_EQ(generate(model, {prompts[row]}, alone).ids[0], together.ids[row]) << row;
  }
}

INSTANTIATE_TEST_SUITE_P(Options, GenerateOption,
                         ::testing::ValuesIn(tapir::testing::option_configs()),
                         tapir::testing::config_name);

TEST(Generate, RepeatsPerSeed) {
  const TransformerLM model = random_model(tiny_config(), 43, DType::f32);
  GenerateOptions options;
  options.max_new_tokens = 12;
  options.sampling.temperature = 2.0;
  options.seed = 5;
  const Prompts prompts{{1}, {2, 3}};
  const Generation first = generate(model, prompts, options);
  EXPECT_EQ(generate(model, prompts, options).ids, first.ids);
  options.seed = 6;
  EXPECT_NE(generate(model, prompts, options).ids, first.ids);
}

TEST(Generate, SixteenBitModelsGenerate) {
  const TransformerLM model = random_model(tiny_config(), 43, DType::bf16);
  GenerateOptions options;
  options.max_new_tokens = 12;
  EXPECT_EQ(generate(model, {{1, 2}}, options).ids[0].size(), 12u);
}

// A model that always says the id after the last one: embeddings one-hot, head shifted by one.
TransformerLM counting_model() {
  TransformerConfig config;
  config.vocab_size = config.d_model = 8;
  config.n_heads = 1;
  config.n_layers = 1;
  config.max_seq_len = 6;
  config.d_ff = 8;
  config.norm = NormKind::none;
  Generator generator(1);
  TransformerLM model(config, generator);
  for (const NamedTensor& p : model.named_parameters()) Tensor(p.tensor).fill_(0.0);
  for (int64_t id = 0; id < 8; ++id) {
    select(select(model.token_embeddings.weight, 0, id), 0, id).fill_(1.0);
    select(select(model.lm_head.weight, 0, (id + 1) % 8), 0, id).fill_(1.0);
  }
  return model;
}

TEST(Generate, FinishedRowsArePaddedAndEndTheRun) {
  const TransformerLM model = counting_model();
  GenerateOptions options;
  options.max_new_tokens = 100;
  options.sampling.temperature = 0;
  options.end_of_text = {5};
  options.pad_id = 7;
  const Generation result = generate(model, {{0}, {3}, {4}, {6}}, options);
  EXPECT_EQ(result.ids[0], (Ids{1, 2, 3, 4, 5, 7, 7}));
  EXPECT_EQ(result.ids[1], (Ids{4, 5, 7, 7, 7, 7, 7}));
  EXPECT_EQ(result.ids[2], (Ids{5, 7, 7, 7, 7, 7, 7}));
  EXPECT_EQ(result.ids[3], (Ids{7, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(result.lengths, (std::vector<int64_t>{4, 1, 0, 6}));
}

TEST(Generate, AnyOfSeveralIdsEndsARow) {
  GenerateOptions options;
  options.max_new_tokens = 100;
  options.sampling.temperature = 0;
  options.end_of_text = {6, 2};
  const Generation result = generate(counting_model(), {{0}, {3}}, options);
  EXPECT_EQ(result.ids, (Prompts{{1, 2, 0}, {4, 5, 6}}));
  EXPECT_EQ(result.lengths, (std::vector<int64_t>{1, 2}));
}

TEST(Generate, WithoutEndOfTextTheLimitEndsIt) {
  GenerateOptions options;
  options.max_new_tokens = 9;
  options.sampling.temperature = 0;
  const Generation result = generate(counting_model(), {{6}}, options);
  EXPECT_EQ(result.ids[0], (Ids{7, 0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(result.lengths[0], 9);
}

TEST(Generate, CallbackSeesEveryTokenAndMayStopARow) {
  GenerateOptions options;
  options.max_new_tokens = 6;
  options.sampling.temperature = 0;
  options.end_of_text = {4};
  options.pad_id = 0;
  std::vector<std::pair<int64_t, int32_t>> seen;
  options.on_token = [&](int64_t row, int32_t id) {
    seen.emplace_back(row, id);
    return !(row == 1 && id == 7);
  };
  const Generation result = generate(counting_model(), {{2}, {5}}, options);
  EXPECT_EQ(seen, (std::vector<std::pair<int64_t, int32_t>>{{0, 3}, {1, 6}, {0, 4}, {1, 7}}));
  EXPECT_EQ(result.ids, (Prompts{{3, 4}, {6, 7}}));
  EXPECT_EQ(result.lengths, (std::vector<int64_t>{1, 2}));
}

TEST(Generate, NothingToDo) {
  const TransformerLM model = counting_model();
  GenerateOptions options;
  options.max_new_tokens = 0;
  EXPECT_EQ(generate(model, {{1}, {2}}, options).ids, (Prompts{{}, {}}));
  options.max_new_tokens = 3;
  EXPECT_TRUE(generate(model, {}, options).ids.empty());
}

TEST(Generate, RecordsNothing) {
  const TransformerLM model = counting_model();
  Tape tape;
  GenerateOptions options;
  options.max_new_tokens = 8;
  generate(model, {{1}}, options);
  EXPECT_EQ(tape.size(), 0u);
}

TEST(Generate, NonFiniteLogitsAreAnError) {
  TransformerLM model = counting_model();
  select(select(model.lm_head.weight, 0, 3), 0, 1).fill_(NAN);
  expect_error([&] { generate(model, {{1}}, {}); },
               {"sampling: the logit of id 3 is nan", "not finite"});
}

TEST(Generate, ImpossibleArgumentsAreErrors) {
  const TransformerLM model = counting_model();
  const auto bad = [&](const Prompts& prompts, const GenerateOptions& options,
                       const std::string& message) {
    expect_error([&] { generate(model, prompts, options); }, {message});
  };
  bad({{1}, {}}, {}, "generate: prompt 1 is empty");
  bad({{1}, {2, 8}}, {},
      "generate: prompt 1 has id 8 at position 1, outside of the vocabulary of 8");
  bad({{-1}}, {}, "prompt 0 has id -1 at position 0");
  GenerateOptions options;
  options.max_new_tokens = -1;
  bad({{1}}, options, "max_new_tokens is -1");
  options = {};
  options.pad_id = 8;
  bad({{1}}, options, "pad_id 8 is outside of the vocabulary of 8");
  options = {};
  options.end_of_text = {3, -2};
  bad({{1}}, options, "end_of_text -2 is outside of the vocabulary of 8");
  options = {};
  options.sampling.top_p = 0;
  bad({{1}}, options, "top_p is 0");
}

}  // namespace
}  // namespace tapir::nn
