/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * One search per instruction set. Each instruction set has a function that compares a block of tags
 * with a key; the walk around it is the same for all, and is compiled for each of them so that the
 * comparison can be part of the loop.
 *
 * With LLAMATCH_SIMD_EMULATE, which is for tests only, the x86 instructions come from SIMDe, and
 * all paths can be run on any CPU.
 */
#include "llamatch_simd.h"

#if defined(LLAMATCH_SIMD_EMULATE)
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx2.h>
#include <simde/x86/avx512.h>
#define HAVE_X86 1
#define TARGET(features)
#define CPU_HAS(feature) true
#elif defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAVE_X86 1
#define TARGET(features) __attribute__((target(features)))
#define CPU_HAS(feature) __builtin_cpu_supports(feature)
#else
#define HAVE_X86 0
#define TARGET(features)
#endif

#if defined(__aarch64__)
#include <arm_neon.h>
#define HAVE_NEON 1
#else
#define HAVE_NEON 0
#endif

#define INLINE static inline __attribute__((always_inline))

_Static_assert(16 == LLAMATCH_BLOCK, "the comparisons below make 16 bits");

/* The live bits of the block that begins at index. */
INLINE uint32_t live_bits(const llamatch_node_t *node, uint32_t index)
{
    return (uint32_t) (node->bits[index / 64] >> index % 64) & 0xffff;
}

/* How many live entries come before the one at index, plus one for itself. */
INLINE uint32_t depth_of(const llamatch_node_t *node, uint32_t index)
{
    uint32_t depth = 0;

    for (uint32_t word = 0; word < index / 64; ++word) {
        depth += (uint32_t) __builtin_popcountll(node->bits[word]);
    }
    return depth + (uint32_t) __builtin_popcountll(node->bits[index / 64] << (63 - index % 64));
}

/* Receives have one tag, messages accept another one, too, and only receives with ANY_TAG have a
 * floor: each has a loop of its own. */
typedef enum { ONE_TAG, TWO_TAGS, FLOOR } part_t;

/* compare(tags, key, part) says which of 16 tags that part of the key accepts, one bit each. */
#define DEFINE_FIND(name, compare, target)                                                    \
    target INLINE bool name##_walk(llamatch_pos_t *pos, uint64_t limit, uint32_t tags_offset, \
                                   llamatch_key_t key, uint64_t *examined, const part_t part) \
    {                                                                                         \
        llamatch_node_t *node = pos->node;                                                    \
        uint64_t passed = 0;                                                                  \
                                                                                              \
        for (; NULL != node && node->first_seq < limit; node = node->next) {                  \
            const int32_t *tags = (const int32_t *) ((char *) node + tags_offset);            \
                                                                                              \
            if (NULL != node->next) { /* of NULL it would cost a walk of the page tables */   \
                __builtin_prefetch(node->next);                                               \
                __builtin_prefetch((char *) node->next + LLAMATCH_LINE);                      \
            }                                                                                 \
            for (uint32_t i = 0; i < node->end; i += LLAMATCH_BLOCK) {                        \
                uint32_t hits = compare(tags + i, key, part) & live_bits(node, i);            \
                                                                                              \
                if (0 != hits) {                                                              \
                    pos->node = node;                                                         \
                    pos->index = i + (uint32_t) __builtin_ctz(hits);                          \
                    *examined += passed + depth_of(node, pos->index);                         \
                    return true;                                                              \
                }                                                                             \
            }                                                                                 \
            passed += node->live;                                                             \
        }                                                                                     \
        pos->node = node;                                                                     \
        *examined += passed;                                                                  \
        return false;                                                                         \
    }                                                                                         \
                                                                                              \
    target static bool name(llamatch_pos_t *pos, uint64_t limit, uint32_t tags_offset,        \
                            llamatch_key_t key, uint64_t *examined)                           \
    {                                                                                         \
        return (INT32_MAX != key.floor)                                                       \
                   ? name##_walk(pos, limit, tags_offset, key, examined, FLOOR)               \
               : (key.tag == key.other)                                                       \
                   ? name##_walk(pos, limit, tags_offset, key, examined, ONE_TAG)             \
                   : name##_walk(pos, limit, tags_offset, key, examined, TWO_TAGS);           \
    }

INLINE uint32_t compare_scalar(const int32_t *tags, llamatch_key_t key, const part_t part)
{
    uint32_t hits = 0;

    (void) part;
    for (uint32_t i = 0; i < LLAMATCH_BLOCK; ++i) {
        hits |= (uint32_t) llamatch_key_accepts(key, tags[i]) << i;
    }
    return hits;
}

DEFINE_FIND(find_scalar, compare_scalar, )

#if HAVE_X86
TARGET("sse2")
INLINE uint32_t compare_sse2_4(const int32_t *tags, llamatch_key_t key, const part_t part)
{
    __m128i four = _mm_loadu_si128((const __m128i *) tags);
    __m128i one = _mm_cmpeq_epi32(four, _mm_set1_epi32(key.tag));
    __m128i two = (ONE_TAG == part) ? one : _mm_cmpeq_epi32(four, _mm_set1_epi32(key.other));
    __m128i above = (FLOOR == part) ? _mm_cmpgt_epi32(four, _mm_set1_epi32(key.floor)) : one;

    return (uint32_t) _mm_movemask_ps(
        _mm_castsi128_ps(_mm_or_si128(_mm_or_si128(one, two), above)));
}

TARGET("sse2")
INLINE uint32_t compare_sse2(const int32_t *tags, llamatch_key_t key, const part_t part)
{
    return compare_sse2_4(tags, key, part) | compare_sse2_4(tags + 4, key, part) << 4
           | compare_sse2_4(tags + 8, key, part) << 8 | compare_sse2_4(tags + 12, key, part) << 12;
}

TARGET("avx2")
INLINE uint32_t compare_avx2_8(const int32_t *tags, llamatch_key_t key, const part_t part)
{
    __m256i eight = _mm256_loadu_si256((const __m256i *) tags);
    __m256i one = _mm256_cmpeq_epi32(eight, _mm256_set1_epi32(key.tag));
    __m256i two = (ONE_TAG == part) ? one : _mm256_cmpeq_epi32(eight, _mm256_set1_epi32(key.other));
    __m256i above = (FLOOR == part) ? _mm256_cmpgt_epi32(eight, _mm256_set1_epi32(key.floor)) : one;

    one = _mm256_or_si256(_mm256_or_si256(one, two), above);
    return (uint32_t) _mm256_movemask_ps(_mm256_castsi256_ps(one));
}

TARGET("avx2")
INLINE uint32_t compare_avx2(const int32_t *tags, llamatch_key_t key, const part_t part)
{
    return compare_avx2_8(tags, key, part) | compare_avx2_8(tags + 8, key, part) << 8;
}

TARGET("avx512f")
INLINE uint32_t compare_avx512(const int32_t *tags, llamatch_key_t key, const part_t part)
{
    __m512i all = _mm512_loadu_si512(tags);
    uint32_t one = _mm512_cmpeq_epi32_mask(all, _mm512_set1_epi32(key.tag));
    uint32_t two =
        (ONE_TAG == part) ? one : _mm512_cmpeq_epi32_mask(all, _mm512_set1_epi32(key.other));

    return one | two
           | ((FLOOR == part) ? _mm512_cmpgt_epi32_mask(all, _mm512_set1_epi32(key.floor)) : 0U);
}

DEFINE_FIND(find_sse2, compare_sse2, TARGET("sse2"))
DEFINE_FIND(find_avx2, compare_avx2, TARGET("avx2,popcnt"))
DEFINE_FIND(find_avx512, compare_avx512, TARGET("avx512f,popcnt"))
#endif

#if HAVE_NEON
INLINE uint32x4_t compare_neon_4(const int32_t *tags, llamatch_key_t key, const part_t part)
{
    int32x4_t four = vld1q_s32(tags);
    uint32x4_t one = vceqq_s32(four, vdupq_n_s32(key.tag));
    uint32x4_t two = (ONE_TAG == part) ? one : vceqq_s32(four, vdupq_n_s32(key.other));
    uint32x4_t above = (FLOOR == part) ? vcgtq_s32(four, vdupq_n_s32(key.floor)) : one;

    return vorrq_u32(vorrq_u32(one, two), above);
}

INLINE uint32_t compare_neon(const int32_t *tags, llamatch_key_t key, const part_t part)
{
    static const uint8_t places[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint32x4_t first = compare_neon_4(tags, key, part),
               second = compare_neon_4(tags + 4, key, part);
    uint32x4_t third = compare_neon_4(tags + 8, key, part),
               fourth = compare_neon_4(tags + 12, key, part);
    uint8x16_t bits;

    /* There is no instruction that makes a mask of lanes, and mostly there is nothing to mask. */
    if (0 == vmaxvq_u32(vorrq_u32(vorrq_u32(first, second), vorrq_u32(third, fourth)))) {
        return 0;
    }
    /* Lanes of all ones or zeros: one bit of each is left, at its own place. */
    bits = vcombine_u8(vmovn_u16(vcombine_u16(vmovn_u32(first), vmovn_u32(second))),
                       vmovn_u16(vcombine_u16(vmovn_u32(third), vmovn_u32(fourth))));
    bits = vandq_u8(bits, vld1q_u8(places));
    return (uint32_t) vaddv_u8(vget_low_u8(bits)) | (uint32_t) vaddv_u8(vget_high_u8(bits)) << 8;
}

DEFINE_FIND(find_neon, compare_neon, )
#endif

size_t llamatch_simd_paths(const llamatch_simd_path_t **paths_out)
{
    /* In the order of preference; what of it this CPU has is asked below. */
    static const llamatch_simd_path_t all[] = {
#if HAVE_X86
        {"avx512", find_avx512},
        {"avx2", find_avx2},
        {"sse2", find_sse2},
#endif
#if HAVE_NEON
        {"neon", find_neon},
#endif
        {"scalar", find_scalar},
    };
    size_t count = sizeof(all) / sizeof(all[0]), first = 0;

#if HAVE_X86
    /* Each of the three implies those after it. */
    if (!CPU_HAS("avx512f")) {
        first = CPU_HAS("avx2") ? 1 : 2;
    }
#endif
    *paths_out = all + first;
    return count - first;
}
