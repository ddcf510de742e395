// Which sanitizer this was compiled with, for tests that one of them makes impossible or meaningless.
#pragma once
#if defined(__has_feature)
#define GARNER_HAS_FEATURE(name) __has_feature(name)
#else
#define GARNER_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || GARNER_HAS_FEATURE(thread_sanitizer)
#define GARNER_THREAD_SANITIZED 1
#else
#define GARNER_THREAD_SANITIZED 0
#endif
#if defined(__SANITIZE_ADDRESS__) || GARNER_HAS_FEATURE(address_sanitizer)
#define GARNER_ADDRESS_SANITIZED 1
#else
#define GARNER_ADDRESS_SANITIZED 0
#endif

namespace garner::testing {
inline constexpr bool sanitized = GARNER_THREAD_SANITIZED || GARNER_ADDRESS_SANITIZED;
}  // namespace garner::testing
