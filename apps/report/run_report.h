// Pages about training runs: curves, samples, settings, machine; several runs over each other.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tapir::app {

// One page about these runs. What a run lacks is left out; a folder without measurements is an
// Error.
std::string run_report(const std::vector<std::filesystem::path>& runs);

// What ran the run, for its machine.json: build, processor or card, threads, memory.
std::string machine_json(const std::string& device);

}  // namespace tapir::app
