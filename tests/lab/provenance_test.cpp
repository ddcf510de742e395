// Each run's file names device, driver, date, commit and command, and keeps all that it had.
#include "lab/provenance.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "folder.hpp"
#include "lab/sample.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

using json = nlohmann::ordered_json;

TEST(provenance, comes_first_and_changes_nothing) {
  for (std::string const run : {R"({"command": "garner-lab gather", "time": "2026-11-28T01:02:03Z", "device": null, "rows": [1.5]})",
                                R"({"command": "garner-lab gather", "time": "2026-11-28T01:02:03Z", "machine": {"device": null}})"}) {
    json const before = json::parse(run), after = json::parse(lab::with_provenance(run, "abc"));
    EXPECT_EQ(
        after.dump().rfind(R"({"device":null,"driver":null,"date":"2026-11-28","commit":"abc","command":"garner-lab gather","time":)", 0),
        0u)
        << after;
    for (auto const& [key, value] : before.items()) EXPECT_EQ(after[key], value) << key;
  }
  EXPECT_TRUE(json::parse(lab::with_provenance(lab::to_json(sample_run()), ""))["commit"].is_null());
  EXPECT_EQ(lab::file_in<lab::run_file>(json::parse(lab::with_provenance(lab::to_json(sample_run()), "abc")), "r").jobs.size(),
            sample_run().jobs.size());
}

TEST(provenance, takes_the_commit_of_the_bundle) {
  own_folder const at;
  std::filesystem::create_directories(at.at("bundle/bin/.real"));
  std::filesystem::path const program = at.file("bundle/bin/.real/garner-lab", "");
  EXPECT_EQ(lab::commit_of(program), "");
  at.file("bundle/commit", "abc\n");
  EXPECT_EQ(lab::commit_of(program), "abc");
  ::setenv("COMMIT", "def", 1);
  EXPECT_EQ(lab::commit_of(program), "def");
  ::unsetenv("COMMIT");
}

}  // namespace
}  // namespace garner::testing
