// Tensor files: round trips, compatibility with the Python package, and invalid files.
#include "files/safetensors.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include "files.hpp"
#include "support.hpp"
#include "write_tensors.hpp"

namespace garner {
namespace {

using garner::testing::error_of;
using garner::testing::full_disk;
using garner::testing::write_tensors;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct safetensors : garner::testing::in_a_folder {
  // A file with this header text and this number of data bytes.
  std::filesystem::path with_header(std::string const& text, std::size_t data = 0) const {
    std::uint64_t const length = text.size();
    std::string bytes(reinterpret_cast<char const*>(&length), 8);
    return put(bytes + text + std::string(data, 'd'));
  }
  // The message, without file name and advice.
  std::string complaint(std::filesystem::path const& file) const {
    errc code{};
    std::string said = error_of([&] { tensor_file{file}; }, &code);
    EXPECT_EQ(code, errc::input) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    EXPECT_THAT(said, StartsWith(file.string() + ": "));
    said.erase(0, file.string().size() + 2);
    std::string const tail = "; the file is damaged or no safetensors file: fetch it again, or write it anew";
    EXPECT_THAT(said, ::testing::EndsWith(tail));
    return said.substr(0, said.size() - std::min(said.size(), tail.size()));
  }
  std::string of_header(std::string const& text, std::size_t data = 0) const { return complaint(with_header(text, data)); }
  // ... for one tensor 't' with these fields.
  std::string of_tensor(std::string const& fields, std::size_t data = 0) const { return of_header("{\"t\":{" + fields + "}}", data); }

  template <class T>
  static std::vector<T> values(tensor_file const& in, std::string const& name) {
    tensor_info const* const t = in.find(name);
    EXPECT_NE(t, nullptr) << name;
    std::vector<T> all(t ? t->bytes / sizeof(T) : 0);
    if (t) in.read(*t, all.data());
    return all;
  }
};

TEST_F(safetensors, there_and_back) {
  std::vector<float> const weights{1, 2, 3, 4, 5, 6};
  std::vector<std::uint8_t> const bytes{7, 8, 9};
  std::vector<double> const one{0.5};
  std::vector<std::int64_t> const ids{-1, 2};
  file_metadata const metadata{{"", "nothing"}, {"a \"key\"\n\\", "ein W\u00f6rtchen \u2603\t\x01"}, {"format", "pt"}};
  std::string const odd = "q\"uo\\te\n\u00e9\u2603", long_name(1000, 'n');
  write_tensors(at("x"),
                std::vector<file_tensor>{{"bytes", "U8", {3}, bytes.data()},
                                         {odd, "F32", {2, 3}, weights.data()},
                                         {"none", "F32", {4, 0, 2}, nullptr},
                                         {"scalar", "F64", {}, one.data()},
                                         {long_name, "I64", {2}, ids.data()},
                                         {"", "BOOL", {3}, bytes.data()}},
                metadata);
  tensor_file const in(at("x"));
  EXPECT_EQ(in.name(), at("x").string());
  EXPECT_EQ(in.metadata(), metadata);
  EXPECT_EQ(in.tensors().size(), 6u);
  EXPECT_EQ(values<float>(in, odd), weights);
  EXPECT_EQ(values<std::uint8_t>(in, "bytes"), bytes);
  EXPECT_EQ(values<std::uint8_t>(in, ""), bytes);
  EXPECT_EQ(values<double>(in, "scalar"), one);
  EXPECT_EQ(values<std::int64_t>(in, long_name), ids);
  EXPECT_EQ(in.find("none")->bytes, 0u);
  EXPECT_THAT(in.find("none")->shape, ElementsAre(4, 0, 2));
  EXPECT_THAT(in.find("scalar")->shape, ElementsAre());
  EXPECT_EQ(in.find(odd)->dtype, "F32");
  EXPECT_EQ(in.find("scala"), nullptr);
  float some[2];
  in.read(*in.find(odd), some, 8, 12);
  EXPECT_THAT(some, ElementsAre(4, 5));

  // Data begin at a line, contiguous, each tensor at a multiple of its element size.
  EXPECT_EQ(in.head().size() % 64, 0u);
  std::uint64_t end = 0;
  for (tensor_info const& t : in.tensors()) {
    EXPECT_EQ(t.begin, end);
    EXPECT_EQ(t.begin % bytes_of_dtype(t.dtype), 0u) << t.name;
    end = t.begin + t.bytes;
  }
  EXPECT_EQ(in.head().size() + end, std::filesystem::file_size(at("x")));
}

TEST_F(safetensors, of_nothing) {
  write_tensors(at("x"), {}, {});
  tensor_file const in(at("x"));
  EXPECT_TRUE(in.tensors().empty());
  EXPECT_TRUE(in.metadata().empty());
  EXPECT_EQ(bytes_of(), std::string("8\0\0\0\0\0\0\0{}", 10) + std::string(54, ' '));
}

TEST_F(safetensors, every_dtype) {
  std::vector<file_tensor> all;
  std::vector<char> const data(24, 'x');
  std::uint64_t bytes = 0;
  for (char const* dtype : {"F32", "F64", "F16", "BF16", "I64", "I32", "U8", "BOOL", "I8", "I16", "U16", "U32", "U64", "F8_E4M3", "F8_E5M2",
                            "F8_E8M0", "C64"}) {
    all.push_back({dtype, dtype, {3}, data.data()});
    bytes += 3 * bytes_of_dtype(dtype);
  }
  write_tensors(at("x"), all, {});
  tensor_file const in(at("x"));
  EXPECT_EQ(in.head().size() + bytes, std::filesystem::file_size(at("x")));
  for (file_tensor const& t : all) EXPECT_EQ(in.find(t.name)->dtype, t.name);
  EXPECT_EQ(bytes_of_dtype("F4"), 0u);  // half a byte
  EXPECT_EQ(bytes_of_dtype("f32"), 0u);
}

// From the Python package 0.8.0: save({"embedding": float32 2x3, "ids": int64 [2], "flag": bool (), "none": float64 (0, 5)},
// {"made by": "Python"}).
TEST_F(safetensors, of_the_python_package) {
  tensor_file const in(GARNER_SOURCE_DIR "/tests/files/python.safetensors");
  EXPECT_EQ(in.metadata(), (file_metadata{{"made by", "Python"}}));
  EXPECT_THAT(values<float>(in, "embedding"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(in.find("embedding")->shape, ElementsAre(2, 3));
  EXPECT_THAT(values<std::int64_t>(in, "ids"), ElementsAre(-1, 1ll << 40));
  EXPECT_THAT(values<char>(in, "flag"), ElementsAre(1));
  EXPECT_THAT(in.find("none")->shape, ElementsAre(0, 5));
}

// The header may list tensors in another order than their data.
TEST_F(safetensors, in_any_order) {
  tensor_file const in(
      with_header(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},"n":{"dtype":"U8","shape":[0],"data_offsets":[2,2]},
    "a":{"data_offsets":[0,2],"shape":[2],"dtype":"U8"},"__metadata__":{}}   )",
                  3));
  std::vector<std::string> names;
  for (tensor_info const& t : in.tensors()) names.push_back(t.name);
  EXPECT_THAT(names, ElementsAre("a", "n", "b"));
}

TEST_F(safetensors, whose_length_lies) {
  EXPECT_EQ(complaint(put("")), "has 0 bytes, and the length of its header alone takes 8");
  EXPECT_EQ(complaint(put("1234567")), "has 7 bytes, and the length of its header alone takes 8");
  EXPECT_EQ(complaint(put(std::string("\3\0\0\0\0\0\0\0{}", 10))), "a header of 3 bytes does not fit into the 10 of the file");
  EXPECT_EQ(complaint(put(std::string(20, '\xff'))), "a header of 18446744073709551615 bytes does not fit into the 20 of the file");
  EXPECT_THAT(error_of([&] { tensor_file{put("PK\3\4, and more")}; }),
              HasSubstr("is a ZIP archive, as torch.save writes; write the tensors"));
  // A header that is too large is rejected before it allocates, even if the file has that size.
  std::uint64_t const much = 100'000'001;
  put(std::string(reinterpret_cast<char const*>(&much), 8) + "{}");
  std::filesystem::resize_file(at("x"), 200'000'000);
  EXPECT_EQ(complaint(at("x")), "a header of 100000001 bytes, and 100000000 are the most");
  errc code{};
  error_of([&] { tensor_file{at("none")}; }, &code);
  EXPECT_EQ(code, errc::io);
  EXPECT_THAT(error_of([&] { tensor_file{folder}; }), HasSubstr("is not a regular file"));
}

TEST_F(safetensors, whose_header_is_no_json) {
  EXPECT_EQ(of_header(""), "its header does not begin with {");
  EXPECT_EQ(of_header(" {}"), "its header does not begin with {");
  EXPECT_EQ(of_header("\xef\xbb\xbf{}"), "its header does not begin with {");
  EXPECT_EQ(of_header("{"), "its header is not JSON at byte 9");
  EXPECT_EQ(of_header("{]"), "its header is not JSON at byte 9");
  EXPECT_EQ(of_header("{}x"), "its header is not JSON at byte 10");
  EXPECT_EQ(of_header("{} {}"), "its header is not JSON at byte 11");
  EXPECT_EQ(of_header(std::string("{}\0\0", 4)), "its header is not JSON at byte 10");
  EXPECT_THAT(of_header("{\"\xff\":{}}"), StartsWith("its header is not JSON at byte 10"));
  EXPECT_THAT(of_header("{\"t\":{\"shape\":[1e999]}}"), StartsWith("its header is not JSON at byte"));
  EXPECT_EQ(of_header(R"({"t":)" + std::string(1'000'000, '[')), "tensor 't': is a list and no object");
}

TEST_F(safetensors, whose_header_says_what_cannot_be) {
  std::string const right = R"("dtype":"U8","shape":[1],"data_offsets":[0,1])";
  tensor_file{with_header("{\"t\":{" + right + "}}", 1)};
  EXPECT_EQ(of_header(R"({"t":{)" + right + R"(},"t":{)" + right + "}}", 1), "tensor 't': stands twice");
  EXPECT_EQ(of_header(R"({"__metadata__":{},"__metadata__":{}})"), "tensor '__metadata__': stands twice");
  EXPECT_EQ(of_header(R"({"__metadata__":{"a":"","a":""}})"), "metadata 'a': stands twice");
  EXPECT_EQ(of_header(R"({"__metadata__":{"a":1}})"), "metadata 'a': is 1 and no text");
  EXPECT_EQ(of_header(R"({"__metadata__":{"a":{}}})"), "metadata 'a': is an object and no text");
  EXPECT_EQ(of_header(R"({"__metadata__":null})"), "metadata '__metadata__': is null and no object");
  EXPECT_EQ(of_header(R"({"t":true})"), "tensor 't': is true and no object");
  EXPECT_EQ(of_header(R"({"\n\u0001":"x"})"), "tensor '\\x0a\\x01': is 'x' and no object");
  EXPECT_EQ(of_tensor(R"("dtype":"U8","shape":[1])", 1), "tensor 't': has no data_offsets");
  EXPECT_EQ(of_tensor(R"("dtype":"U8","data_offsets":[0,1])", 1), "tensor 't': has no shape");
  EXPECT_EQ(of_tensor(R"("shape":[1],"data_offsets":[0,1])", 1), "tensor 't': has no dtype");
  EXPECT_EQ(of_tensor(right + R"(,"shape":[1])", 1), "tensor 't': shape stands twice");
  EXPECT_EQ(of_tensor(right + R"(,"offset":0)", 1), "tensor 't': has 'offset'; a tensor has dtype, shape and data_offsets");
  EXPECT_EQ(of_tensor(R"("dtype":1)"), "tensor 't': dtype is 1 and no text");
  EXPECT_EQ(of_tensor(R"("dtype":[])"), "tensor 't': dtype is a list and no text");
  EXPECT_EQ(of_tensor(R"("shape":"x")"), "tensor 't': shape is 'x' and no list");
  EXPECT_EQ(of_tensor(R"("shape":{})"), "tensor 't': shape is an object and no list");
  EXPECT_THAT(of_tensor(R"("dtype":"F99","shape":[1],"data_offsets":[0,1])", 1),
              StartsWith("tensor 't': its dtype is 'F99', and Garner knows F32, F64, F16, BF16, I64, I32, U8, BOOL"));
  for (char const* n : {"-1", "1.0", "1e2", "18446744073709551616", "null", "false"})
    EXPECT_THAT(of_tensor(fmt::format(R"("shape":[{}])", n)), StartsWith("tensor 't': its shape holds ")) << n;
  EXPECT_EQ(of_tensor(R"("shape":[-7])"), "tensor 't': its shape holds -7, which is not a whole number from 0 up");
  EXPECT_EQ(of_tensor(R"("data_offsets":[0,1.5])"), "tensor 't': data_offsets hold 1.5; they are two whole numbers from 0 up");
  EXPECT_EQ(of_tensor(R"("data_offsets":[0,-1])"), "tensor 't': data_offsets hold -1; they are two whole numbers from 0 up");
  EXPECT_EQ(of_tensor(R"("data_offsets":[0,1,2])"), "tensor 't': data_offsets hold 2; they are two whole numbers from 0 up");
  EXPECT_EQ(of_tensor(R"("data_offsets":[0])"), "tensor 't': data_offsets are not two");
  EXPECT_EQ(of_tensor(R"("dtype":"U8","shape":[1],"data_offsets":[1,0])", 1), "tensor 't': data_offsets go back, from 1 to 0");
  EXPECT_EQ(of_tensor(R"("dtype":"F32","shape":[2,3],"data_offsets":[0,23])", 23),
            "tensor 't': F32 [2, 3] takes 24 bytes, and its data_offsets give it 23");
  EXPECT_EQ(of_tensor(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])"),
            "tensor 't': U8 [4294967296, 4294967296] is more than a file can hold");
  EXPECT_EQ(of_tensor(R"("dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0])"),
            "tensor 't': F64 [2305843009213693952] is more than a file can hold");
}

TEST_F(safetensors, whose_tensors_do_not_fill_the_data) {
  auto const two = [&](int a, int b, int c, int d, std::size_t data) {
    return of_header(fmt::format(R"({{"a":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}},)"
                                 R"("b":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}}})",
                                 b - a, a, b, d - c, c, d),
                     data);
  };
  EXPECT_EQ(two(0, 4, 5, 8, 8), "tensor 'b': begins at byte 5 of the data, and bytes 4 to 4 belong to no tensor");
  EXPECT_EQ(two(1, 4, 4, 8, 8), "tensor 'a': begins at byte 1 of the data, and bytes 0 to 0 belong to no tensor");
  EXPECT_EQ(two(0, 4, 3, 8, 8), "tensor 'b': begins at byte 3 of the data, within tensor 'a'");
  EXPECT_EQ(two(0, 8, 4, 4, 8), "tensor 'b': begins at byte 4 of the data, within tensor 'a'");
  EXPECT_EQ(two(0, 4, 0, 4, 4), "tensor 'b': begins at byte 0 of the data, within tensor 'a'");
  EXPECT_EQ(two(0, 4, 4, 8, 7), "tensor 'b': ends at byte 8 of the data, which have 7; was the file cut off?");
  EXPECT_THAT(two(0, 4, 4, 8, 10), StartsWith("the last 2 of its "));
}

// Each truncation is rejected, and so is each extra byte.
TEST_F(safetensors, cut_off) {
  std::vector<float> const values{1, 2, 3};
  write_tensors(at("y"), std::vector<file_tensor>{{"v", "F32", {3}, values.data()}}, {{"k", "v"}});
  std::string const whole = bytes_of("y");
  for (std::size_t n = 0; n < whole.size(); ++n) complaint(put(whole.substr(0, n)));
  complaint(put(whole + "x"));
  tensor_file{put(whole)};
}

TEST_F(safetensors, that_cannot_be_written) {
  float const one = 1;
  errc code{};
  auto const said = [&](std::vector<file_tensor> const& tensors, file_metadata const& metadata = {}) {
    std::string const why = error_of([&] { write_tensors(at("x"), tensors, metadata); }, &code);
    EXPECT_EQ(code, errc::usage) << why;
    return why;
  };
  EXPECT_THAT(said({{"a", "F33", {1}, &one}}), HasSubstr("x: tensor 'a': its dtype is 'F33'; use one of F32"));
  EXPECT_THAT(said({{"a", "F32", {}, &one}, {"a", "F32", {1}, &one}}), HasSubstr("x: tensor 'a': two are called so; name it otherwise"));
  EXPECT_THAT(said({{"__metadata__", "F32", {}, &one}}), HasSubstr("the name is that of the metadata"));
  EXPECT_THAT(said({{"a\xff", "F32", {}, &one}}), HasSubstr("x: tensor 'a\\xff': is not UTF-8"));
  EXPECT_THAT(said({}, {{"a", "\xff"}}), HasSubstr("x: metadata '\\xff': is not UTF-8"));
  EXPECT_THAT(said({{"a", "F64", {1ull << 32, 1ull << 32}, &one}}), HasSubstr("x: tensor 'a': F64 [4294967296, 4294967296] is more than"));
  EXPECT_THAT(said({{"a", "U8", {1ull << 63}, &one}, {"b", "U8", {1ull << 63}, &one}}), HasSubstr("x: tensor 'b': with it they are more"));
  EXPECT_THAT(said({}, {{"a", std::string(100'000'000, 'x')}}), HasSubstr("a header has at most 100000000; write several files"));
  EXPECT_EQ(files(), 0);
}

TEST_F(safetensors, a_full_disk_leaves_the_old_file) {
  std::vector<float> const many(1 << 20, 1.5f);
  std::vector<file_tensor> const tensors{{"v", "F32", {1 << 20}, many.data()}};
  put("old");
  errc code{};
  std::string why;
  {
    full_disk const full(1u << 20);
    why = error_of([&] { write_tensors(at("x"), tensors, {}); }, &code);
  }
  EXPECT_EQ(code, errc::io);
  EXPECT_THAT(why, HasSubstr("x: writing failed at byte 1048576"));
  EXPECT_EQ(bytes_of(), "old");
  EXPECT_EQ(files(), 1);
  write_tensors(at("x"), tensors, {});
  EXPECT_EQ(values<float>(tensor_file(at("x")), "v"), many);
}

TEST_F(safetensors, an_interrupt_leaves_the_old_file) {
  float const one = 1;
  put("old");
  for (std::uint64_t checks = 0;; ++checks) {
    request_interrupt_after(checks);
    errc code{};
    try {
      write_tensors(at("x"), std::vector<file_tensor>{{"v", "F32", {1}, &one}}, {});
      clear_interrupt();
      EXPECT_GT(checks, 2u);
      break;
    } catch (error const& e) {
      code = e.code();
    }
    clear_interrupt();
    EXPECT_EQ(code, errc::interrupted);
    EXPECT_EQ(bytes_of(), "old");
    EXPECT_EQ(files(), 1);
  }
  EXPECT_EQ(values<float>(tensor_file(at("x")), "v"), std::vector<float>{one});
}

// The counterpart of python/tests/safetensors_test.py: reads Python's file and writes it again under another name.
TEST(DISABLED_child, copies_a_file_of_tensors) {
  char const *const from = std::getenv("GARNER_TEST_FROM"), *const to = std::getenv("GARNER_TEST_TO");
  ASSERT_TRUE(from && to);
  tensor_file const in(from);
  std::vector<std::vector<char>> data;
  std::vector<file_tensor> tensors;
  for (tensor_info const& t : in.tensors()) {
    data.emplace_back(t.bytes);
    in.read(t, data.back().data());
    tensors.push_back({t.name, t.dtype, t.shape, data.back().data()});
  }
  write_tensors(to, tensors, in.metadata());
}

}  // namespace
}  // namespace garner
