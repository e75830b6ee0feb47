#include <cctype>
#include <memory>

#include "apps/cli/output.h"
#include "apps/cli/suggest.h"
#include "apps/commands/command.h"
#include "apps/gradcheck/targets.h"
#include "backends/cpu/threads.h"
#include "backends/registry.h"

namespace tapir::app {
namespace {

constexpr const char* kGradcheckExamples = R"(Examples:
  tapir gradcheck --list
  tapir gradcheck rms_norm attention
  tapir gradcheck block --norm-position post --ffn gelu
  tapir gradcheck TransformerLM --dtype f32 --kv-heads 1 --tie-embeddings

For each parameter and input the table shows the element where the gradient from the
backward pass (analytic) and the one from central differences (numeric) differ most.
The exit status is 1 if any of them differs by more than the tolerance.)";

struct GradcheckCommand {
  GradcheckSetup setup;
  std::vector<std::string> names;
  bool list = false;
  std::string dtype = "f64";
  std::string device = "auto";
  int64_t seed = 0;
  int64_t threads = 0;
  double step = 0, tolerance = 0;  // 0: the usual one of the dtype

  GradcheckCommand() {
    setup.model.layers = 2;
    setup.model.heads = 2;
    setup.model.d_model = 8;
  }
};

std::vector<Setting> settings(GradcheckCommand& c) {
  const std::string group = "check";
  GradcheckSetup& s = c.setup;
  std::vector<Setting> list = {
      {group, "list", &c.list, "List what can be checked"},
      {group, "dtype",
       Choice{{"f64", "f32"},
              [&c] { return c.dtype; },
              [&c](std::string_view name) { c.dtype = name; }},
       "Of the tensors; f32 has wide bounds, because rounding hides small errors"},
      {group, "device", &c.device, "auto, cpu or cuda"},
      {group, "threads", &c.threads, "CPU threads; 0: as many as physical cores", 0, 256},
      {group, "seed", &c.seed, "Of all values", 0, 9e15},
      {group, "step", &c.step, "Of the differences; 0: 1e-5, for f32 4e-3", 0, 1},
      {group, "tolerance", &c.tolerance,
       "Largest error relative to the gradient's scale; 0: 1e-7, for f32 2e-2", 0, 1e9},
      {group, "max-elements", &s.options.max_elements,
       "Elements to check in each tensor, drawn at random; 0: all", 0, 1e12},
      {group, "batch", &s.batch, "Sequences", 1, 1e6},
      {group, "time", &s.time, "Tokens in each sequence", 1, 1e6},
      {group, "vocab", &s.vocab, "Vocabulary size", 1, 1e6},
  };
  for (Setting& setting : model_settings(s.model)) {
    if (setting.name != "context") list.push_back(std::move(setting));
  }
  return list;
}

void print_list(const std::vector<GradcheckTarget>& targets) {
  for (const GradcheckTarget& target : targets) {
    print_output("{:<32} {:<10} {}\n", target.name, target.kind, target.about);
  }
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// What a word stands for: the target of that name, or all of that kind ("layer"), or all whose
// names contain it ("attention").
std::vector<GradcheckTarget> find(const std::vector<GradcheckTarget>& targets,
                                  const std::string& word) {
  const std::string wanted = lower_case(word);
  std::vector<std::string> known;
  std::vector<GradcheckTarget> of_kind, containing;
  for (const GradcheckTarget& target : targets) {
    if (target.name == word) return {target};
    if (target.kind == wanted) of_kind.push_back(target);
    if (lower_case(target.name).find(wanted) != std::string::npos) containing.push_back(target);
    known.push_back(target.name);
  }
  if (!of_kind.empty()) return of_kind;
  require(!containing.empty(), "gradcheck", "there is nothing called '{}'{}; see --list", word,
          did_you_mean(word, known));
  return containing;
}

std::vector<GradcheckTarget> choose(const std::vector<GradcheckTarget>& targets,
                                    const std::vector<std::string>& words) {
  if (words.empty()) return targets;
  std::vector<GradcheckTarget> chosen;
  for (const std::string& word : words) {
    for (GradcheckTarget& target : find(targets, word)) chosen.push_back(std::move(target));
  }
  return chosen;
}

void complete(GradcheckCommand& c) {
  c.setup.device = choose_device(c.device);
  c.setup.dtype = parse_dtype(c.dtype);
  GradcheckOptions options =
      c.setup.dtype == DType::f32 ? GradcheckOptions::for_f32() : GradcheckOptions();
  options.max_elements = c.setup.options.max_elements;
  options.seed = static_cast<uint64_t>(c.seed);
  if (c.step > 0) options.step = c.step;
  if (c.tolerance > 0) options.tolerance = c.tolerance;
  c.setup.options = options;
  RunConfig config;
  config.model = c.setup.model;
  config.validate();
}

int check(GradcheckCommand& command) {
  const std::vector<GradcheckTarget> targets = gradcheck_targets();
  if (command.list) {
    print_list(targets);
    return 0;
  }
  const std::vector<GradcheckTarget> chosen = choose(targets, command.names);
  if (command.threads > 0) cpu::set_threads(static_cast<int>(command.threads));
  complete(command);
  int64_t cases = 0, failures = 0;
  for (const GradcheckTarget& target : chosen) {
    target.run(command.setup, [&](const GradcheckCase& one) {
      const GradcheckReport report = gradcheck(one.function, one.tensors, command.setup.options);
      ++cases;
      if (!report.passed()) ++failures;
      print_output("{} {}: {}, {}, {}\n{}\n", report.passed() ? "pass" : "FAIL", target.name,
                   one.about, command.dtype, command.setup.device, report.to_string());
    });
  }
  print_output("{} of {} checks passed, {} failed\n", cases - failures, cases, failures);
  return failures > 0 ? 1 : 0;
}

}  // namespace

void add_gradcheck_command(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<GradcheckCommand>();
  CLI::App* command = program.add_subcommand(
      "gradcheck", "Compare gradients of operations, layers and models with differences");
  command->add_option("names", options->names,
                      "What to check: names, parts of names, or operation, layer, block, model; "
                      "nothing: everything");
  set_action(*command, options, settings(*options), kGradcheckExamples, check, chosen);
}

}  // namespace tapir::app
