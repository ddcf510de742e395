// The doctor: its self-test on every device, its report of an injected fault, and of GPUs that exist but cannot be used, as a stand-in
// driver lists them.
#include "doctor/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "core/gpus_seen.hpp"
#include "garner/build.hpp"
#include "stand_in/stand_in.hpp"
#include "support.hpp"

namespace garner {
namespace {

using namespace ::testing;

struct self_test_at : testing::at_place {};
GARNER_AT_EVERY_PLACE(self_test_at);

TEST_P(self_test_at, passes) { EXPECT_NO_THROW(try_place(where())); }

TEST_P(self_test_at, sees_any_value_that_is_wrong) {
  for (std::size_t const at : {0u, 4'711u, 369'999u}) {
    errc code{};
    std::string const text = testing::error_of(
        [&] { try_place(where(), [&](execution_device, std::span<float> rows, auto) { rows[at] = std::nextafter(rows[at], 1e9f); }); },
        &code);
    EXPECT_EQ(code, errc::device);
    EXPECT_THAT(text, HasSubstr(to_string(where()) + ": a gather gave row")) << at;
  }
  for (std::size_t const at : {0u, 1u, 4'095u})
    EXPECT_THAT(
        testing::error_of([&] { try_place(where(), [&](execution_device, auto, std::span<std::uint32_t> depths) { ++depths[at]; }); }),
        HasSubstr(fmt::format("BFS gave vertex {} the depth", at)));
}

doctor_check const& named(doctor_report const& r, std::string const& name) {
  for (doctor_check const& c : r.checks)
    if (c.name == name) return c;
  ADD_FAILURE() << "no check " << name << " in\n" << to_text(r);
  return r.checks.front();
}

execution_device const simulated{device_kind::simulated, 0};

struct doctor : Test {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("garner-dev-{}", ::getpid());
  void SetUp() override {
    std::filesystem::create_directory(folder);
    ::setenv("GARNER_DEVICE_FOLDER", folder.c_str(), 1);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder);
    for (char const* name : {"GARNER_DEVICE_FOLDER", "CUDA_VISIBLE_DEVICES"}) ::unsetenv(name);
  }
  void there_is(char const* file) { std::ofstream(folder / file) << ""; }
};

TEST_F(doctor, reports_all_that_there_is) {
  doctor_report const r = examine_machine(simulated);
  EXPECT_TRUE(r.usable) << to_text(r);
  for (char const* name :
       {"Garner", "driver", "host memory", "pinned memory", "/dev/shm", "io_uring", "cuBLAS", "NCCL", "self-test of simulated"}) {
    EXPECT_NE(named(r, name).found, "") << name;
    EXPECT_THAT(to_text(r), HasSubstr(std::string(name) + " "));
  }
  EXPECT_THAT(named(r, "Garner").found, StartsWith(version()));
  if (device::count() == 0) {
    EXPECT_EQ(named(r, "driver").found, "no NVIDIA GPU here");
    EXPECT_EQ(examine_machine().checks.back().name, "self-test of cpu");
  }
}

TEST_F(doctor, a_wrong_result_is_a_line_with_advice_and_the_rest_is_reported) {
  doctor_report const r = examine_machine(simulated, [](execution_device, std::span<float> rows, auto) { rows[37] = -1; });
  EXPECT_FALSE(r.usable);
  doctor_check const& c = named(r, "self-test of simulated");
  EXPECT_THAT(c.found, HasSubstr("a gather gave row"));
  EXPECT_THAT(to_text(r), HasSubstr("! self-test of simulated"));
  EXPECT_THAT(to_text(r), HasSubstr("-> " + c.advice));
  named(r, "NCCL");
}

TEST_F(doctor, whatever_a_self_test_throws_is_a_line) {
  auto const told = [](std::function<void()> const& what) {
    doctor_report const r = examine_machine(simulated, [&](execution_device, auto, auto) { what(); });
    EXPECT_FALSE(r.usable);
    doctor_check const& c = named(r, "self-test of simulated");
    return c.found + " -> " + c.advice;
  };
  EXPECT_THAT(told([] { fail(errc::memory, "no room"); }), StartsWith("no room -> free memory"));
  EXPECT_THAT(told([] { throw std::bad_alloc(); }), HasSubstr("free memory of the GPU and of the host"));
  EXPECT_THAT(told([] { throw std::runtime_error("odd"); }), AllOf(HasSubstr("odd"), HasSubstr("please report it")));
}

TEST_F(doctor, a_device_that_is_not_there_is_a_line_too) {
  doctor_report const r = examine_machine(execution_device{device_kind::cuda, 4711});
  EXPECT_FALSE(r.usable);
  doctor_check const& c = named(r, "self-test of cuda:4711");
  EXPECT_EQ(c.found, "not run: this GPU cannot be used");
  EXPECT_EQ(c.advice, testing::error_of([] { device::require(4711); }));  // the message of every algorithm there
}

TEST_F(doctor, pinned_memory_is_not_limited_by_what_may_be_locked) {
  EXPECT_THAT(named(examine_machine(simulated), "pinned memory").found,
              AllOf(StartsWith("as much as the host has free"), HasSubstr("limits io_uring's buffers alone")));
}

TEST_F(doctor, gpus_that_are_hidden_are_not_amiss_unless_one_is_asked_for) {
  if (device::count() > 0) GTEST_SKIP() << "this machine has a GPU";
  there_is("nvidia0");
  testing::stand_in driver("GARNER_DRIVER_LIBRARY", "driver_stand_in");
  driver.say("GARNER_STAND_IN_GPUS", "NVIDIA Some GPU:9.0");
  driver.say("GARNER_STAND_IN_CUDA", "13000");
  EXPECT_FALSE(examine_machine().usable);
  for (char const* visible : {"", "-1"}) {
    ::setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    doctor_report const r = examine_machine();
    EXPECT_TRUE(r.usable) << to_text(r);
    EXPECT_THAT(named(r, "driver").found, HasSubstr(fmt::format("; CUDA_VISIBLE_DEVICES is '{}', which hides all GPUs", visible)));
    EXPECT_FALSE(examine_machine(execution_device{device_kind::cuda, 0}).usable);
  }
}

TEST_F(doctor, hides_what_cuda_would_hide) {  // as driver 580 did for each of these with one GPU
  gpus_seen one;
  one.files = 1, one.gpus.resize(1);
  for (auto const& [visible, hidden] : std::vector<std::pair<char const*, bool>>{{"", true},
                                                                                 {"-1", true},
                                                                                 {"NoDevFiles", true},
                                                                                 {"99", true},
                                                                                 {"1,0", true},
                                                                                 {"abc", true},
                                                                                 {",0", true},
                                                                                 {" 0", false},
                                                                                 {"0,abc", false},
                                                                                 {"GPU-aea8fbef", false}}) {
    ::setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    EXPECT_EQ(hides_gpus(one), hidden) << visible;
  }
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_FALSE(hides_gpus(one));
}

TEST_F(doctor, one_reason_is_given_everywhere) {
  gpu_build const build{"13.0", {75, 90, 120}}, cpu;
  auto const why = [&](gpu_build const& b) { return told(why_no_gpu(see_gpus(), b)); };
  EXPECT_EQ(why(cpu), "this build has no GPU support; build with CUDA=1, or use device cpu or simulated");
  EXPECT_EQ(why(build),
            "no NVIDIA GPU is visible here: /dev/nvidia0 does not exist; start a Docker container with --gpus all, or use device cpu or "
            "simulated");
  there_is("nvidia0");
  ::setenv("GARNER_DRIVER_LIBRARY", "/no/such/library.so", 1);
  EXPECT_THAT(why(build), HasSubstr("libcuda.so.1 cannot be opened; install the NVIDIA driver"));
  EXPECT_THAT(why(cpu),
              HasSubstr("there is a GPU (/dev/nvidia*), and this build of Garner has no GPU support; install the wheel for GPUs"));
  testing::stand_in driver("GARNER_DRIVER_LIBRARY", "driver_stand_in");
  driver.say("GARNER_STAND_IN_GPUS", "NVIDIA New:9.0");
  driver.say("GARNER_STAND_IN_CUDA", "13000");
  EXPECT_EQ(why_no_gpu(see_gpus(), build).why, "");  // only the runtime knows
  ::setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  EXPECT_EQ(why(build),
            "CUDA_VISIBLE_DEVICES is '-1', which hides all GPUs; unset it, or set it to numbers of GPUs, or use device cpu or simulated");
  if (device::count() > 0) return;
  EXPECT_EQ(device::why_none(), why(this_build()));
  EXPECT_EQ(named(examine_machine(), "driver").advice, device::why_none());
  EXPECT_EQ(testing::error_of([] { device::require(0); }), device::why_none());
}

TEST_F(doctor, sees_files_of_gpus_and_no_others) {
  for (char const* file : {"nvidiactl", "nvidia-uvm", "nvidia", "nvidia0x", "null"}) there_is(file);
  EXPECT_FALSE(see_gpus().any());
  for (char const* file : {"nvidia0", "nvidia13"}) there_is(file);
  EXPECT_EQ(see_gpus().files, 2u);
  ::setenv("GARNER_DEVICE_FOLDER", (folder / "no").c_str(), 1);
  EXPECT_FALSE(see_gpus().any());
}

TEST_F(doctor, a_gpu_that_this_build_cannot_use_is_said) {
  if (device::built()) GTEST_SKIP() << "this build has GPU support";
  EXPECT_EQ(why_gpu_unusable(), "");
  there_is("nvidia0");
  testing::stand_in driver("GARNER_DRIVER_LIBRARY", "driver_stand_in");
  driver.say("GARNER_STAND_IN_GPUS", "NVIDIA Some GPU:9.0");
  driver.say("GARNER_STAND_IN_CUDA", "13000");
  EXPECT_THAT(why_gpu_unusable(), AllOf(HasSubstr("there is a GPU (NVIDIA Some GPU), and this build of Garner has no GPU support"),
                                        HasSubstr("runs on the CPU; install the wheel"), Not(HasSubstr("\n"))));
  doctor_report const r = examine_machine(simulated);
  EXPECT_FALSE(r.usable);
  EXPECT_EQ(named(r, "driver").found, "580.65.06, for CUDA 13.0");
  EXPECT_THAT(named(r, "driver").advice, HasSubstr("install the wheel for GPUs"));
  EXPECT_EQ(named(r, "GPU 0").found, "NVIDIA Some GPU, compute capability 9.0, 80.0 GiB");
  EXPECT_EQ(named(r, "self-test of simulated").advice, "");
  for (char const* none : {"", "-1", "NoDevFiles"}) {
    ::setenv("CUDA_VISIBLE_DEVICES", none, 1);
    EXPECT_EQ(why_gpu_unusable(), "");
    EXPECT_THAT(named(examine_machine(simulated), "driver").found, HasSubstr("which hides all GPUs"));
  }
  ::setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  EXPECT_NE(why_gpu_unusable(), "");
}

TEST_F(doctor, tells_why_a_build_and_a_driver_do_not_fit) {
  gpu_build const build{"13.0", {75, 80, 86, 90, 100, 120}};
  EXPECT_EQ(problem_of(see_gpus(), build).why, "");
  there_is("nvidia0");
  ::setenv("GARNER_DRIVER_LIBRARY", "/no/such/library.so", 1);
  EXPECT_THAT(problem_of(see_gpus(), build).why, HasSubstr("(/dev/nvidia*), and the driver's library libcuda.so.1 cannot be opened"));
  testing::stand_in driver("GARNER_DRIVER_LIBRARY", "driver_stand_in");
  driver.say("GARNER_STAND_IN_GPUS", "NVIDIA Old:7.0;NVIDIA New:9.0");
  driver.say("GARNER_STAND_IN_CUDA", "12020");
  gpu_problem const old = problem_of(see_gpus(), build);
  EXPECT_EQ(old.why, "the GPU's driver 580.65.06 is for CUDA 12.2, and this build of Garner needs CUDA 13");
  EXPECT_EQ(old.helps, "update the driver to 580 or newer");
  driver.say("GARNER_STAND_IN_CUDA", "13010");
  EXPECT_EQ(problem_of(see_gpus(), build).why, "");  // one of two suffices
  driver.say("GARNER_STAND_IN_GPUS", "NVIDIA Old:7.0");
  EXPECT_EQ(problem_of(see_gpus(), build).why,
            "the GPU NVIDIA Old has compute capability 7.0, and this build of Garner has code for 7.5, 8.0, 8.6, 9.0, 10.0, 12.0");
  EXPECT_THAT(problem_of(see_gpus(), build).helps, HasSubstr("GPUs before Turing (7.5) are not supported"));
  driver.say("GARNER_STAND_IN_GPUS", "");  // NVML does not report it
  EXPECT_EQ(problem_of(see_gpus(), build).why, "");
}

TEST(architectures, run_what_is_theirs_and_what_comes_after_the_last) {
  gpu_build const build{"13.0", {75, 80, 86, 90, 100, 120}};
  for (auto const& [major, minor, runs] : std::vector<std::tuple<int, int, bool>>{{7, 0, false},
                                                                                  {7, 5, true},
                                                                                  {8, 7, true},
                                                                                  {8, 9, true},
                                                                                  {9, 0, true},
                                                                                  {10, 3, true},
                                                                                  {11, 0, false},
                                                                                  {12, 1, true},
                                                                                  {13, 0, true}})
    EXPECT_EQ(has_code(build, major, minor), runs) << major << "." << minor;
  EXPECT_FALSE(has_code({"", {}}, 9, 0));
  EXPECT_EQ(this_build().architectures.empty(), !device::built());
  EXPECT_EQ(this_build().toolkit.empty(), !device::built());
}

}  // namespace
}  // namespace garner
