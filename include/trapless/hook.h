/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Static hooks: places in a program that cost next to nothing until somebody listens. C11 and C++17, gcc and clang. A
 * program that only has hooks needs no library.
 *
 *   TL_HOOK(net, packet_in, (const struct packet *, p), (uint32_t, len))    at file scope, in a header: declares it, typed
 *   tl_hook(net, packet_in, p, len);                                        a place; arguments are evaluated only when on
 *   TL_HOOK_VERDICT(sec, may_open, int, 0, (const char *, path), (int, flags))
 *   if ((err = tl_verdict(sec, may_open, path, flags))) return err;         0 where nobody decides
 *
 * One to eight parameters: integers, enumerations, pointers, floating-point numbers, structures; a type with a comma in it, or
 * around the name (an array, a pointer to a function), by a typedef. Scripts read all but long double, __int128 and what is
 * behind a C++ reference. A place that is on calls
 * the hook's one function, tl_hook_PROVIDER_NAME_call(); who listens, inside of the program (<trapless/hooks.h>) or outside
 * (`process("P").hook("net:packet_in")`), stands on its first instruction. So a hook may have any number of places.
 *
 * The function is a static mark of <sys/sdt.h>, too, whose semaphore is the hook's word: gdb, perf, bpftrace and `.mark` see
 * and switch it as they do any other.
 */
#ifndef TRAPLESS_HOOK_H
#define TRAPLESS_HOOK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * How a place is switched. FLAG: it tests the hook's word; everybody's tools can switch it. NOP: five bytes that do
 * nothing become a jump; JUMP: a jump over the call becomes five bytes that do nothing. Both take no test, and are written
 * by trapless alone. For all that follows by TL_HOOK_FORM, defined before; for one by TL_HOOK_FORMED.
 */
#define TL_HOOK_FLAG 0
#define TL_HOOK_NOP  1
#define TL_HOOK_JUMP 2
#ifndef TL_HOOK_FORM
#define TL_HOOK_FORM TL_HOOK_FLAG
#endif

/* Nothing here hands a name on as it stands: `linux` is a macro to some compilers. */
#define TL_HOOK(provider, name, ...)                                                               \
	TL__DECLARE(TL_HOOK_FORM, tl_hook_##provider##_##name, #provider, #name, TL__TELL, int, 0, \
		__VA_ARGS__)
#define TL_HOOK_FORMED(form, provider, name, ...)                                                  \
	TL__DECLARE(form, tl_hook_##provider##_##name, #provider, #name, TL__TELL, int, 0,         \
		__VA_ARGS__)
/*
 * `none`, a number or pointer, is what the places get where nobody listens, or none of those decides; any other value is a
 * decision, and what it means is up to the program: an errno, say.
 */
#define TL_HOOK_VERDICT(provider, name, type, none, ...)                                           \
	TL__DECLARE(TL_HOOK_FORM, tl_hook_##provider##_##name, #provider, #name, TL__ASK, type,    \
		none, __VA_ARGS__)
#define TL_HOOK_VERDICT_FORMED(form, provider, name, type, none, ...)                              \
	TL__DECLARE(form, tl_hook_##provider##_##name, #provider, #name, TL__ASK, type, none,      \
		__VA_ARGS__)

/* Does anybody listen? For what is dear to prepare. */
#define tl_hook_enabled(provider, name) tl_hook_##provider##_##name##_on()
#define tl_verdict(provider, name, ...) TL__PLACE(tl_hook_##provider##_##name, __VA_ARGS__)
#define tl_hook(provider, name, ...)	((void)TL__PLACE(tl_hook_##provider##_##name, __VA_ARGS__))

/* --- what the rest is made of ----------------------------------------------------- */

#define TL__PLACE(id, ...)			   (id##_on() ? id##_call(__VA_ARGS__) : id##_none())
#define TL__DECLARE(form, id, ...)		   TL__CAT(TL__ON_, form)(id) TL__HOOK(form, id, __VA_ARGS__)
#define TL__TEXT_(x)				   #x
#define TL__TEXT(x)				   TL__TEXT_(x)
#define TL__CAT_(a, b)				   a##b
#define TL__CAT(a, b)				   TL__CAT_(a, b)
#define TL__COUNT(...)				   TL__COUNT_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define TL__COUNT_(a, b, c, d, e, f, g, h, n, ...) n
#define TL__1(m, s, a)				   m a
#define TL__2(m, s, a, ...)			   m a s() TL__1(m, s, __VA_ARGS__)
#define TL__3(m, s, a, ...)			   m a s() TL__2(m, s, __VA_ARGS__)
#define TL__4(m, s, a, ...)			   m a s() TL__3(m, s, __VA_ARGS__)
#define TL__5(m, s, a, ...)			   m a s() TL__4(m, s, __VA_ARGS__)
#define TL__6(m, s, a, ...)			   m a s() TL__5(m, s, __VA_ARGS__)
#define TL__7(m, s, a, ...)			   m a s() TL__6(m, s, __VA_ARGS__)
#define TL__8(m, s, a, ...)			   m a s() TL__7(m, s, __VA_ARGS__)
/* m(type, name) for each parameter, with s() between two. */
#define TL__EACH(m, s, ...) TL__CAT(TL__, TL__COUNT(__VA_ARGS__))(m, s, __VA_ARGS__)
#define TL__COMMA()	    ,
#define TL__SPACE()	    " "
#define TL__NONE()
#define TL__PARAMETER(type, name) type name

#ifdef __cplusplus
#include <type_traits>
#define TL__EXTERN   extern "C"
#define TL__DECLARED extern "C"
/* An enumeration is what lies behind it, a reference what it leads to. */
template <typename T, bool = std::is_enum<T>::value> struct tl__signed : std::is_signed<T> {
};
template <typename T>
struct tl__signed<T, true> : std::is_signed<typename std::underlying_type<T>::type> {
};
template <typename T> struct tl__signed<T &, false> : tl__signed<T> {
};
template <typename T> struct tl__signed<T &&, false> : tl__signed<T> {
};
#define TL__SIGNED(type) tl__signed<type>::value
#else
#define TL__EXTERN
#define TL__DECLARED extern
#define TL__SIGNED(type)                                                                           \
	_Generic(*(type *)0, char                                                                  \
		 : (char)-1 < 0, signed char : 1, short : 1, int : 1, long : 1, long long : 1,     \
		 float : 1, double : 1, default : 0)
#endif

/*
 * What the compiler knows of a parameter, which lies in memory at the mark: so does a structure, and without optimization
 * all do. The class is that of __builtin_classify_type(): 5 pointer, 8 floating-point, 12
 * structure.
 */
#define TL__OPERANDS(type, name)                                                                   \
	[name] "m"(name), [tl_s_##name] "n"((TL__SIGNED(type) ? 1 : -1) * (int)sizeof(name)),      \
		[tl_c_##name] "n"(__builtin_classify_type(name))
/* As a mark has them: size, below zero where it is signed, and place. */
#define TL__ARGUMENT(type, name) "%n[tl_s_" #name "]@%[" #name "]"
#define TL__TYPED(type, name)                                                                      \
	"\t.2byte %n[tl_s_" #name "], %c[tl_c_" #name "]\n\t.asciz \"" #type                       \
	"\"\n\t.asciz \"" #name "\"\n"

/* An ELF note of ours, kept by linkers and found in what is mapped; its words are relative to themselves. */
#define TL__NOTE_BEGIN(type)                                                                       \
	"\t.pushsection .note.trapless, \"a?\", %%note\n\t.balign 4\n"                             \
	"\t.4byte 992f - 991f, 994f - 993f, " TL__TEXT(                                            \
		type) "\n"                                                                         \
		      "991:\t.asciz \"trapless\"\n992:\t.balign 4\n993:\n"
#define TL__NOTE_END "994:\t.balign 4\n\t.popsection\n"
/*
 * word, function, mark, form, "provider:name", "type of the result", and for each parameter its size (below zero:
 * signed) and class, two bytes each, "type" and "name". Each file that has the hook tells it: of those with one word, the
 * mark of the function that was taken is the first behind its beginning.
 */
#define TL__NOTE_HOOK 0x484b
/* place, where it leads when it is switched, word, form */
#define TL__NOTE_SITE 0x4854

/* Where the linker has put this says how far what follows it has been moved: gdb finds no mark without. */
#define TL__MARK_BASE                                                                              \
	"\t.ifndef _.stapsdt.base\n\t.pushsection .stapsdt.base, \"aG\", \"progbits\", "           \
	".stapsdt.base, comdat\n"                                                                  \
	"\t.weak _.stapsdt.base\n\t.hidden _.stapsdt.base\n"                                       \
	"_.stapsdt.base:\t.space 1\n\t.size _.stapsdt.base, 1\n\t.popsection\n\t.endif\n"
#define TL__MARK(id, provider, name, ...)                                                          \
	"\t.pushsection .note.stapsdt, \"?\", %%note\n\t.balign 4\n"                               \
	"\t.4byte 992f - 991f, 994f - 993f, 3\n991:\t.asciz \"stapsdt\"\n992:\t.balign 4\n"        \
	"993:\t" TL__POINTER " 990b, _.stapsdt.base, " #id "\n\t.asciz \"" provider                \
	"\"\n\t.asciz \"" name "\"\n\t.asciz \"" TL__EACH(                                         \
		TL__ARGUMENT, TL__SPACE, __VA_ARGS__) "\"\n" TL__NOTE_END TL__MARK_BASE

/* --- who listens inside: <trapless/hooks.h> ----------------------------------------- */

/* One call of a hook, for those that take any. */
struct tl_hook_call {
	const struct tl_hook *hook;
	const void *values; /* the parameters, as the members of a structure */
	size_t size;
	void *verdict; /* what the place will get; of a hook without verdict an int that nobody asks for */
	size_t verdict_size;
};
struct tl_hook_listener {
	void (*fn)(
		void); /* result (*)(void *data, parameters), or void (*)(void *data, const struct tl_hook_call *) */
	void *data;
	bool any; /* the latter */
};
struct tl_hook_listeners {
	unsigned n;
	struct tl_hook_listener listener[];
};
/* By them nobody is called any more who was taken away, and no list is gone that somebody reads. */
struct tl_hook_readers {
	void *(*enter)(void);
	void (*leave)(void *entered);
};
struct tl_hook {
	volatile unsigned short on; /* counts who listens; the mark's semaphore */
	unsigned short unused[3];
	const struct tl_hook_readers *readers; /* while there are listeners */
	const struct tl_hook_listeners *listeners; /* NULL: none */
};

struct tl__inside {
	const struct tl_hook_readers *readers;
	void *entered;
	const struct tl_hook_listeners *list;
};
static inline struct tl__inside tl__enter(const struct tl_hook *hook)
{
	struct tl__inside in;

	in.readers = __atomic_load_n(&hook->readers, __ATOMIC_ACQUIRE);
	in.entered = in.readers->enter();
	in.list = __atomic_load_n(&hook->listeners, __ATOMIC_ACQUIRE);
	return in;
}
static inline void tl__leave(struct tl__inside *in)
{
	in->readers->leave(in->entered);
}

#define TL__NAME(type, name)   name
#define TL__MEMBER(type, name) type name;
/* Those that take any call: the parameters in a structure. */
#define TL__ANY(id, l, verdict, ...)                                                               \
	do {                                                                                       \
		const struct id##_values tl_v = {TL__EACH(TL__NAME, TL__COMMA, __VA_ARGS__)};      \
		const struct tl_hook_call tl_c = {                                                 \
			&id, &tl_v, sizeof(tl_v), &verdict, sizeof(verdict)};                      \
		((void (*)(void *, const struct tl_hook_call *))l->fn)(l->data, &tl_c);            \
	} while (0)
#define TL__LISTENERS(id)                                                                          \
	struct tl__inside tl_in __attribute__((cleanup(tl__leave))) = tl__enter(&id);              \
	for (unsigned tl_i = 0; tl_in.list && tl_i < tl_in.list->n; tl_i++)
/* So that the hook's function, without listeners, saves nothing. */
#define TL__APART static __attribute__((noinline, unused))
/* All of them, or where they have a verdict until one decides. `told`: what becomes of a listener's result. */
#define TL__WALK(id, result, told, decides, type, none, ...)                                       \
	typedef result (*id##_fn)(void *, TL__EACH(TL__PARAMETER, TL__COMMA, __VA_ARGS__));        \
	TL__APART type id##_listeners(TL__EACH(TL__PARAMETER, TL__COMMA, __VA_ARGS__))             \
	{                                                                                          \
		type tl_verdict = (type)(none);                                                    \
                                                                                                   \
		TL__LISTENERS(id)                                                                  \
		{                                                                                  \
			const struct tl_hook_listener *tl_l = &tl_in.list->listener[tl_i];         \
                                                                                                   \
			if (tl_l->any)                                                             \
				TL__ANY(id, tl_l, tl_verdict, __VA_ARGS__);                        \
			else                                                                       \
				told((id##_fn)tl_l->fn)(                                           \
					tl_l->data, TL__EACH(TL__NAME, TL__COMMA, __VA_ARGS__));   \
			if (decides && tl_verdict != (type)(none))                                 \
				break;                                                             \
		}                                                                                  \
		return decides ? tl_verdict : (type)(none);                                        \
	}
#define TL__TELL(id, type, none, ...) TL__WALK(id, void, (void), false, type, none, __VA_ARGS__)
#define TL__ASK(id, type, none, ...)  TL__WALK(id, type, tl_verdict =, true, type, none, __VA_ARGS__)

/* The hook's function. Weak: each file that includes it has one. */
#define TL__HOOK(form, id, provider, name, walk, type, none, ...)                                  \
	struct id##_values {                                                                       \
		TL__EACH(TL__MEMBER, TL__NONE, __VA_ARGS__)                                        \
	};                                                                                         \
	walk(id, type, none, __VA_ARGS__) static inline type id##_none(void)                       \
	{                                                                                          \
		return (type)(none);                                                               \
	}                                                                                          \
	TL__EXTERN __attribute__((weak, used, TL__WHOLE, visibility("hidden")))                    \
	type id##_call(TL__EACH(TL__PARAMETER, TL__COMMA, __VA_ARGS__))                            \
	{                                                                                          \
		__asm__ volatile("990:\t" TL__NOP TL__NOTE_BEGIN(                                  \
			TL__NOTE_HOOK) "\t.4byte " #id " - ., " #id                                \
				       "_call - ., 990b - ., " TL__TEXT(                           \
					       form) "\n\t.asciz \"" provider ":" name             \
						     "\"\n\t.asciz \"" TL__TEXT_(                  \
							     type) "\"\n" TL__EACH(TL__TYPED,      \
							     TL__NONE, __VA_ARGS__)                \
							     TL__NOTE_END TL__MARK(id, provider,   \
								     name, __VA_ARGS__)::          \
								     TL__EACH(TL__OPERANDS,        \
									     TL__COMMA,            \
									     __VA_ARGS__)          \
				 : "memory");                                                      \
		if (__builtin_expect(!__atomic_load_n(&id.listeners, __ATOMIC_RELAXED), 1))        \
			return (type)(none);                                                       \
		return id##_listeners(TL__EACH(TL__NAME, TL__COMMA, __VA_ARGS__));                 \
	}
/* No copy of it made for some of its callers. */
#ifdef __clang__
#define TL__WHOLE noinline
#else
#define TL__WHOLE noipa
#endif

#define TL__WORD(id)                                                                               \
	TL__DECLARED struct tl_hook id;                                                            \
	__attribute__((weak, used, section(".probes"),                                             \
		visibility("hidden"))) struct tl_hook id = {0, {0, 0, 0}, 0, 0};
#define TL__ON_TL_HOOK_FLAG(id) TL__ON_0(id)
#define TL__ON_TL_HOOK_NOP(id)	TL__ON_1(id)
#define TL__ON_TL_HOOK_JUMP(id) TL__ON_2(id)
#define TL__SWITCH		static inline __attribute__((always_inline)) bool
#define TL__ON_0(id)                                                                               \
	TL__WORD(id)                                                                               \
	TL__SWITCH id##_on(void)                                                                   \
	{                                                                                          \
		return __builtin_expect(id.on != 0, 0);                                            \
	}
#define TL__SITE(id, form)                                                                         \
	TL__NOTE_BEGIN(TL__NOTE_SITE)                                                              \
	"\t.4byte 990b - ., %l[other] - ., " #id " - ., " #form "\n" TL__NOTE_END
#define TL__ON_1(id)                                                                               \
	TL__WORD(id)                                                                               \
	TL__SWITCH id##_on(void)                                                                   \
	{                                                                                          \
		__asm__ goto(TL__ALIGN "990:\t" TL__NOP TL__SITE(id, 1)::: : other);               \
		return false;                                                                      \
	other:                                                                                     \
		return true;                                                                       \
	}
#define TL__ON_2(id)                                                                               \
	TL__WORD(id)                                                                               \
	TL__SWITCH id##_on(void)                                                                   \
	{                                                                                          \
		__asm__ goto(TL__ALIGN "990:\t" TL__GO("%l[other]") TL__SITE(id, 2)::: : other);   \
		return true;                                                                       \
	other:                                                                                     \
		return false;                                                                      \
	}

/* --- what differs by machine -------------------------------------------------------- */

#if defined(__x86_64__)
#define TL__POINTER ".8byte"
#define TL__NOP	    ".byte 0x0f, 0x1f, 0x44, 0, 0\n"
#define TL__GO(to)  ".byte 0xe9\n\t.4byte " to " - . - 4\n"
#define TL__ALIGN   "\t.p2align 3, 0x90, 4\n" /* all five bytes in one aligned word */
#else
#ifdef __cplusplus
#define TL__UNPORTED static_assert(false, "hooks are not built for this machine yet");
#else
#define TL__UNPORTED _Static_assert(0, "hooks are not built for this machine yet");
#endif
#undef TL__DECLARE
#define TL__DECLARE(...) TL__UNPORTED
#endif

#endif
