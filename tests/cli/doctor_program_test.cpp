// `garner doctor`: how it ends, and its JSON.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "core/device.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(doctor_program, ends_well_where_all_is_well) {
  folder const at;
  outcome const o = at.shell("export GARNER_DEVICE_FOLDER=. && garner doctor --place simulated --json");
  EXPECT_EQ(o.code, 0) << o.err;
  json const all = json::parse(o.out);
  EXPECT_TRUE(all.at("usable"));
  json const& last = all.at("checks").back();
  EXPECT_EQ(last.at("name"), "self-test of simulated");
  EXPECT_THAT(last.at("found").get<std::string>(), HasSubstr("right"));
  EXPECT_TRUE(last.at("advice").is_null());
}

TEST(doctor_program, fails_where_a_gpu_cannot_be_used_and_reports_the_rest) {
  if (device::count() > 0) GTEST_SKIP() << "this machine has a GPU";
  folder const at;
  at.write("nvidia0", "");
  std::string const with = "export GARNER_DEVICE_FOLDER=. GARNER_DRIVER_LIBRARY=/no/such.so; unset CUDA_VISIBLE_DEVICES; garner doctor";
  outcome const o = at.shell(with);
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.out, HasSubstr("! driver "));
  EXPECT_THAT(o.out, HasSubstr("-> there is a GPU (/dev/nvidia*)"));
  EXPECT_THAT(o.out, HasSubstr("self-test of host"));
  EXPECT_THAT(o.err, HasSubstr("garner: Garner does not work as it should on this machine"));
  outcome const as_json = at.shell(with + " --json");
  EXPECT_EQ(as_json.code, 1);
  EXPECT_FALSE(json::parse(as_json.out).at("usable"));
}

TEST(doctor_program, options_that_ask_for_gpu_memory_on_the_cpu_are_named_and_change_nothing) {
  folder const at;
  for (auto const& [option, line] : {std::pair("--device-budget 1MiB", "garner bfs kron:6 --source 1 --json"),
                                     {"--budget 10%", "garner load kron:6 --width 3 --share 100% --batch 16 --fanout 2 --json"},
                                     {"--keep-lists 10%", "garner sample kron:6 --share 100% --batch 16 --fanout 2 --json"}}) {
    outcome const o = at.shell(std::string(line) + " " + option), without = at.shell(line);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.err,
              std::string("garner: ") + option +
                  " has no effect on the CPU, which has no GPU memory; say --place device (`garner doctor` tells whether a GPU can be "
                  "used), or leave it out\n");
    EXPECT_EQ(without.err, "");
  }
  EXPECT_EQ(at.shell("garner bfs kron:6 --source 1 --place simulated --device-budget 1MiB").err, "");
}

}  // namespace
}  // namespace garner::testing
