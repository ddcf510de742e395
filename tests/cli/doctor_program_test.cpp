// `garner doctor`: its exit codes, and its JSON.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "core/device.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr, ::testing::Not, ::testing::StartsWith;

json named(json const& report, std::string const& name) {
  for (json const& check : report.at("checks"))
    if (check.at("name") == name) return check;
  ADD_FAILURE() << "no check " << name << " in " << report.dump(2);
  return {{"found", ""}, {"advice", nullptr}};
}

TEST(doctor_program, ends_well_where_all_is_well) {
  folder const at;
  outcome const o = at.shell("export GARNER_DEVICE_FOLDER=. && garner doctor --device simulated --json");
  EXPECT_EQ(o.code, 0) << o.err;
  json const all = json::parse(o.out);
  EXPECT_TRUE(all.at("usable"));
  json const test = named(all, "self-test of simulated");
  EXPECT_THAT(test.at("found").get<std::string>(), HasSubstr("right"));
  EXPECT_TRUE(test.at("advice").is_null());
}

TEST(doctor_program, reports_torch_and_pyg_of_the_python_on_path) {
  folder const at;
  auto const with = [&](std::string const& python, std::string const& named_one = "") {
    if (!python.empty()) {
      at.write("bin/python3", "#!/bin/sh\n" + python + "\n");
      std::filesystem::permissions(at.path() / "bin/python3", std::filesystem::perms::owner_all);
    }
    outcome const o =
        at.shell("export GARNER_DEVICE_FOLDER=. PATH=$PWD/bin:$PATH " + named_one + " && garner doctor --device simulated --json");
    EXPECT_EQ(o.code, 0) << o.err;
    json const all = json::parse(o.out);
    return std::pair(named(all, "torch").at("found").get<std::string>(), named(all, "PyG").at("found").get<std::string>());
  };
  std::filesystem::create_directory(at.path() / "bin");
  EXPECT_EQ(with("echo /of/python; echo 2.9.1+cu130; echo 'not installed'"),
            std::pair(std::string("2.9.1+cu130, of /of/python"), std::string("not installed for /of/python")));
  std::string const none = "not known: no Python answers on PATH";
  EXPECT_EQ(with("echo half; exit 1"), std::pair(none, none));
  EXPECT_EQ(with("", "GARNER_PYTHON=/no/such/python"), std::pair(none, none));
  std::filesystem::remove(at.path() / "bin/python3");
  if (std::system("python3 -c 'import importlib.metadata' 2> /dev/null") != 0) GTEST_SKIP() << "needs python3";
  for (char const* module : {"email.py", "csv.py"}) at.write(module, "raise SystemExit(3)\n");  // the current folder must not matter
  EXPECT_NE(with("").first, none);
}

TEST(doctor_program, gpus_that_are_hidden_are_no_fault_unless_one_is_asked_for) {
  if (device::count() > 0) GTEST_SKIP() << "this machine has a GPU";
  folder const at;
  at.write("nvidia0", "");
  std::string const with = "export GARNER_DEVICE_FOLDER=. GARNER_DRIVER_LIBRARY=/no/such.so CUDA_VISIBLE_DEVICES=; garner doctor";
  outcome const o = at.shell(with);
  EXPECT_EQ(o.code, 0) << o.out << o.err;
  EXPECT_THAT(o.out, HasSubstr("CUDA_VISIBLE_DEVICES is '', which hides all GPUs"));
  outcome const asked = at.shell(with + " --device cuda");
  EXPECT_EQ(asked.code, 1);
  EXPECT_THAT(asked.out, HasSubstr("not run: this GPU cannot be used"));
  EXPECT_THAT(asked.out, Not(HasSubstr("do not use this GPU")));
}

TEST(doctor_program, and_all_others_give_one_reason_why_no_gpu_can_be_used) {
  if (device::count() > 0) GTEST_SKIP() << "this machine has a GPU";
  folder const at;
  at.write("nvidia0", "");
  std::string const with = "export GARNER_DEVICE_FOLDER=. GARNER_DRIVER_LIBRARY=/no/such.so; unset CUDA_VISIBLE_DEVICES; ";
  std::string const why = json::parse(at.shell(with + "garner info --json").out).at("no_device");
  EXPECT_THAT(why, StartsWith("there is a GPU (/dev/nvidia*), and "));
  EXPECT_EQ(named(json::parse(at.shell(with + "garner doctor --json").out), "driver").at("advice"), why);
  EXPECT_EQ(at.shell(with + "garner bfs kron:6 --device cuda").err, "garner: " + why + "\n");
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
  EXPECT_THAT(o.out, HasSubstr("self-test of cpu"));
  EXPECT_THAT(o.err, HasSubstr("garner: Garner does not work as it should on this machine"));
  outcome const as_json = at.shell(with + " --json");
  EXPECT_EQ(as_json.code, 1);
  EXPECT_FALSE(json::parse(as_json.out).at("usable"));
}

TEST(doctor_program, options_that_ask_for_gpu_memory_on_the_cpu_are_named_and_change_nothing) {
  folder const at;
  for (auto const& [option, line] : {std::pair("--graph-cache 1MiB", "garner bfs kron:6 --source 1 --json"),
                                     {"--feature-cache 10%", "garner load kron:6 --width 3 --share 100% --batch 16 --fanout 2 --json"},
                                     {"--graph-cache 10%", "garner sample kron:6 --share 100% --batch 16 --fanout 2 --json"}}) {
    outcome const o = at.shell(std::string(line) + " " + option), without = at.shell(line);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.err,
              std::string("garner: ") + option +
                  " has no effect on the CPU, which has no GPU memory; use --device cuda (`garner doctor` reports whether a GPU can be "
                  "used), or leave it out\n");
    EXPECT_EQ(without.err, "");
  }
  EXPECT_EQ(at.shell("garner bfs kron:6 --source 1 --device simulated --graph-cache 1MiB").err, "");
}

}  // namespace
}  // namespace garner::testing
