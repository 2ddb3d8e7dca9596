/* SPDX-License-Identifier: MIT */
/*
 * One case for every way in which an instruction is displaced. What a case may
 * rely on: rbx, rsi, rdi point into ab_data; rbp into the stack, above rsp;
 * rcx is small; r12 points at a word that holds ab_callee; everything else is
 * random. CASE body END: each instruction of the body is probed in its turn.
 * TAKEN is where branches go that must be told from falling through.
 */
	.macro CASE name
	.pushsection .rodata
n_\name: .asciz "\name"
	.popsection
	.pushsection ab_tab, "aw", @progbits
	.quad n_\name, c_\name, b_\name, e_\name
	.popsection
	.p2align 4
c_\name:
	.endm

	.macro END name
b_\name:
	jmp ab_exit
	.skip 3, 0x90
e_\name:
	.skip 16, 0xcc
	.endm

	.macro TAKEN name /* instead of END */
b_\name:
	jmp ab_exit
t_\name:
	movq $1, ab_mark(%rip)
	jmp ab_exit
e_\name:
	.skip 16, 0xcc
	.endm

	/* op to a near and to a far label */
	.macro JCC op
	CASE \op\()_near
	\op t_\op\()_near
	nop
	TAKEN \op\()_near
	CASE \op\()_far
	\op ab_taken
	nop
	END \op\()_far
	.endm

	.macro ONE name, insn:vararg
	CASE \name
	\insn
	END \name
	.endm

	.text
	.globl ab_cases_begin, ab_cases_end
ab_cases_begin:

/* as they are */
ONE mov_rr, mov %rax, %r10
ONE mov_imm32, mov $0x12345678, %eax
ONE mov_imm64, movabs $0x123456789abcdef0, %r11
ONE nop1, nop
ONE nop5, nopl 0(%rax, %rax)
ONE endbr, endbr64
ONE lea_sib, lea 4(%rax, %r9, 4), %rdx
ONE add_store, add %eax, (%rbx)
ONE adc, adc %rdx, %rax
ONE cmov, cmovbe %r9, %rax
ONE setcc, setle %dl
ONE high_byte, mov %ah, %dh
ONE shl_cl, shl %cl, %rdx
ONE mul, mul %r9
ONE bswap, bswap %r14
ONE movbe, movbe %rax, 8(%rbx)
ONE xchg, xchg %rax, %r13
ONE cmpxchg, lock cmpxchg %rdx, 16(%rbx)
ONE lock_add, lock addl $1, (%rbx)
ONE xadd, lock xadd %eax, 4(%rbx)
ONE cmpxchg16b, lock cmpxchg16b 32(%rbx)
ONE moffs, movabs ab_data, %eax
ONE moffs_store, movabs %al, ab_data
ONE abs32, mov ab_data+8, %rdx
ONE fs_load, mov %fs:0, %rdx
ONE pushf, pushfq
ONE clc, clc
ONE cmc, cmc
ONE stc_adc, adc $0, %edx
ONE daa_like, bt %rdx, %r9
ONE test_imm, test $0x40, %dil

/* RIP-relative */
ONE rip_load, mov ab_data+24(%rip), %rax
ONE rip_store, mov %r9d, ab_data+28(%rip)
ONE rip_lea, lea ab_data(%rip), %r8
ONE rip_imm32, movl $0x11223344, ab_data+32(%rip)
ONE rip_imm8, addq $5, ab_data+40(%rip)
ONE rip_cmp_imm, cmpb $7, ab_data+48(%rip)
ONE rip_imul, imul $1000, ab_data+48(%rip), %ecx
ONE rip_sse, movups ab_data+64(%rip), %xmm3
ONE rip_sse_imm, pshufd $0x1b, ab_data+64(%rip), %xmm9
ONE rip_vex, vaddpd ab_data+64(%rip), %ymm2, %ymm11
ONE rip_vex_imm, vpermilps $0x1b, ab_data+64(%rip), %ymm4
ONE rip_x87, fldl ab_data+80(%rip)
ONE rip_lock, lock incl ab_data+88(%rip)
ONE rip_push, pushq ab_data+96(%rip)
ONE rip_pop, popq ab_data+104(%rip)
ONE rip_addr32, mov ab_data(%eip), %eax

/* stack */
ONE push_r, push %rax
ONE push_rsp, push %rsp
ONE push_imm, push $-5
ONE push_mem, push (%rbx)
ONE push_sp_mem, push 8(%rsp)
ONE pop_r, pop %r9
ONE pop_rsp, pop %rsp
ONE pop_sp_mem, popq 8(%rsp)
ONE push16, pushw %ax
ONE sub_sp, sub $0x20, %rsp
ONE sub_sp_big, sub $0x120, %rsp
ONE add_sp, add $0x18, %rsp
ONE lea_sp, lea -0x30(%rsp), %rsp
ONE mov_sp, mov %rbp, %rsp
ONE and_sp, and $-32, %rsp
ONE mov_from_sp, mov %rsp, %rdx
ONE red_zone_store, mov %rax, -8(%rsp)
ONE red_zone_load, mov -128(%rsp), %rdx
ONE red_zone_add, addl $1, -64(%rsp)
ONE leave, leave
ONE enter, enter $16, $0
ONE enter1, enter $16, $1
ONE popf, popfq

/* strings */
ONE movsb, movsb
ONE rep_movsb, rep movsb
ONE rep_stosq, rep stosq
ONE repne_scasb, repne scasb
ONE repe_cmpsb, repe cmpsb
ONE lodsd, lodsl
	CASE backwards
	std
	rep movsb
	mov %rax, %rdx
	cld
	END backwards
	CASE backwards_wide
	std
	movl $5, (%rbx)
	movl $5, 8(%rbx)
	cld
	nopl 0(%rax, %rax)
	END backwards_wide

/* vector and x87 */
ONE sse, addps %xmm1, %xmm2
ONE sse_store, movups %xmm5, 64(%rbx)
ONE avx, vaddps %ymm1, %ymm2, %ymm3
ONE vzeroupper, vzeroupper
ONE pcmp, pcmpistri $0x0c, %xmm1, %xmm2
ONE ptest, ptest %xmm1, %xmm2
ONE comisd, comisd %xmm4, %xmm5
ONE fld1, fld1
ONE fadd, fadd %st(1), %st
ONE fstp, fstpl 72(%rbx)
ONE fcomi, fcomi %st(2), %st
ONE fnstcw, fnstcw 40(%rbx)
ONE emms, emms
ONE bmi, andn %rax, %rdx, %r8
ONE mulx, mulx %rax, %r8, %r9
ONE adox, adox %rax, %r9
ONE adcx, adcx %rax, %r9

/* branches */
	JCC jo
	JCC jno
	JCC jb
	JCC jae
	JCC je
	JCC jne
	JCC jbe
	JCC ja
	JCC js
	JCC jns
	JCC jp
	JCC jnp
	JCC jl
	JCC jge
	JCC jle
	JCC jg
	CASE loop
	loop t_loop
	nop
	TAKEN loop
	CASE loope
	loope t_loope
	nop
	TAKEN loope
	CASE loopne
	loopne t_loopne
	nop
	TAKEN loopne
	CASE jrcxz
	jrcxz t_jrcxz
	nop
	TAKEN jrcxz
	CASE jecxz
	jecxz t_jecxz
	nop
	TAKEN jecxz
	CASE jmp_near
	jmp t_jmp_near
	nop
	TAKEN jmp_near
ONE jmp_far, jmp ab_taken
	CASE loop_back /* a branch back to the probed instruction: each round is a hit */
	lea 1(%rdx), %rdx
	loop c_loop_back
	END loop_back
	CASE jcc_back
	lea 1(%rdx), %rdx
	cmp %rdx, %rdx
	jne c_jcc_back
	END jcc_back
	CASE jmp_reg
	lea t_jmp_reg(%rip), %r9
	jmp *%r9
	TAKEN jmp_reg
ONE jmp_mem, jmp *ab_exit_word(%rip)
ONE jmp_r12, jmp *8(%r12)
ONE jmp_table, jmp *ab_table(, %rcx, 8)

/* calls and returns: the callee leaves its return address in the data, where all sides look */
ONE call, call ab_callee
ONE call_rip, call *ab_callee_word(%rip)
ONE call_abs, call *ab_callee_word
ONE call_r12, call *(%r12)
	CASE call_disp8
	call *16(%r12)
	nop
	END call_disp8
	CASE call_disp32
	.byte 0x41, 0xff, 0x94, 0x24, 0x10, 0, 0, 0 /* call *16(%r12), long form */
	END call_disp32
	CASE call_rbx7
	.byte 0xff, 0x94, 0x23, 0xf8, 0, 0, 0 /* call *0xf8(%rbx,%riz) */
	END call_rbx7
	CASE call_reg
	lea ab_callee(%rip), %rdx
	call *%rdx
	nop
	END call_reg
	CASE call_sp
	mov %r12, %rdx
	pushq (%r12)
	call *(%rsp)
	lea 8(%rsp), %rsp
	END call_sp
	CASE call_sp_disp
	pushq (%r12)
	push %rdx
	call *8(%rsp)
	lea 16(%rsp), %rsp
	END call_sp_disp
	CASE call_short_before
	mov %rax, %r9
	call ab_callee
	mov %rdx, %r8
	END call_short_before
	CASE call_next
	call 1f
1:	pop %rdx
	END call_next
	CASE ret
	lea t_ret(%rip), %r9
	push %r9
	ret
	nop
	TAKEN ret
	CASE ret_imm
	lea t_ret_imm(%rip), %r9
	push %r9
	ret $24
	TAKEN ret_imm
	CASE rep_ret
	lea t_rep_ret(%rip), %r9
	push %r9
	rep ret
	TAKEN rep_ret
	CASE tls_call
	.byte 0x66, 0x66, 0x48
	call ab_callee
	END tls_call
	CASE bnd_jmp
	.byte 0xf2 /* bnd */
	jmp ab_taken
	END bnd_jmp
ONE notrack, notrack jmp *ab_exit_word(%rip)

/* windows of several kinds */
	CASE prologue
	push %rbp
	mov %rsp, %rbp
	push %r12
	push %rbx
	sub $8, %rsp
	test %eax, %eax
	END prologue
	CASE epilogue
	add $8, %rsp
	pop %rdx
	pop %r9
	pop %rax
	mov %eax, %edx
	END epilogue
	CASE test_branch
	test %eax, %eax
	je t_test_branch
	mov (%rbx), %rdx
	cmp $5, %dl
	jb t_test_branch
	TAKEN test_branch
	CASE flags_across
	cmp %rax, %rdx
	mov %rax, %r8
	setb %al
	sbb %r9, %r9
	END flags_across
	CASE tiny
	push %rax
	pop %rdx
	push %r8
	pop %r9
	push %rcx
	pop %r10
	clc
	cmc
	END tiny
	CASE rip_pair
	mov ab_data(%rip), %eax
	xor %edx, %edx
	mov %rax, ab_data+8(%rip)
	END rip_pair

/* the system */
	CASE syscall
	mov $39, %eax
	syscall
	mov %rax, %rdx
	END syscall
	CASE syscall_sigprocmask
	xor %edi, %edi
	xor %esi, %esi
	lea 16(%rbx), %rdx
	mov $8, %r10d
	mov $14, %eax
	syscall
	END syscall_sigprocmask
	CASE rdtsc_like
	lfence
	mfence
	pause
	prefetcht0 (%rbx)
	END rdtsc_like
ab_cases_end:

	.p2align 4
	.globl ab_taken
ab_taken:
	movq $1, ab_mark(%rip)
	jmp ab_exit

	.globl ab_callee
ab_callee:
	push %rax
	mov 8(%rsp), %rax
	mov %rax, ab_seen_return(%rip)
	pop %rax
	ret

	.globl ab_run, ab_exit, ab_callee_word, ab_exit_word, ab_table, ab_mark, ab_seen_return
	/* struct ab_state: 16 registers in the processor's order, flags, target, then the xsave area */
ab_run: /* rdi = in, rsi = out */
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsi, ab_out(%rip)
	mov %rsp, ab_host_sp(%rip)
	mov ab_xmask(%rip), %eax
	xor %edx, %edx
	xrstor64 192(%rdi)
	mov 136(%rdi), %rax
	mov %rax, ab_target(%rip)
	mov 32(%rdi), %rsp
	pushq 120(%rdi)
	pushq 128(%rdi)
	mov 0(%rdi), %rax
	mov 8(%rdi), %rcx
	mov 16(%rdi), %rdx
	mov 24(%rdi), %rbx
	mov 40(%rdi), %rbp
	mov 48(%rdi), %rsi
	mov 64(%rdi), %r8
	mov 72(%rdi), %r9
	mov 80(%rdi), %r10
	mov 88(%rdi), %r11
	mov 96(%rdi), %r12
	mov 104(%rdi), %r13
	mov 112(%rdi), %r14
	mov 56(%rdi), %rdi
	popfq
	pop %r15
	/* what the pushes have overwritten is in the red zone: put it back */
	mov %r15, ab_r15(%rip)
	mov ab_red(%rip), %r15
	mov %r15, -8(%rsp)
	mov ab_red+8(%rip), %r15
	mov %r15, -16(%rsp)
	mov ab_r15(%rip), %r15
	jmp *ab_target(%rip)
ab_exit:
	mov %rdi, ab_rdi(%rip)
	mov ab_out(%rip), %rdi
	mov %rax, 0(%rdi)
	mov %rcx, 8(%rdi)
	mov %rdx, 16(%rdi)
	mov %rbx, 24(%rdi)
	mov %rsp, 32(%rdi)
	mov %rbp, 40(%rdi)
	mov %rsi, 48(%rdi)
	mov ab_rdi(%rip), %rax
	mov %rax, 56(%rdi)
	mov %r8, 64(%rdi)
	mov %r9, 72(%rdi)
	mov %r10, 80(%rdi)
	mov %r11, 88(%rdi)
	mov %r12, 96(%rdi)
	mov %r13, 104(%rdi)
	mov %r14, 112(%rdi)
	mov %r15, 120(%rdi)
	mov ab_host_sp(%rip), %rsp
	pushfq
	popq 128(%rdi)
	cld
	mov ab_xmask(%rip), %eax
	xor %edx, %edx
	xsave64 192(%rdi)
	fninit
	ldmxcsr ab_mxcsr(%rip)
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret

	/* The handlers: let C look, then ruin whatever a handler may ruin. */
	.globl ab_pre, ab_post
ab_pre:
	sub $8, %rsp
	call ab_check_pre
	add $8, %rsp
	jmp 1f
ab_post:
	sub $8, %rsp
	call ab_check_post
	add $8, %rsp
1:	mov $0x5a5a5a5a5a5a5a5a, %rcx
	mov %rcx, %rdx
	mov %rcx, %rsi
	mov %rcx, %rdi
	mov %rcx, %r8
	mov %rcx, %r9
	mov %rcx, %r10
	mov %rcx, %r11
	mov %rcx, -8(%rsp)
	mov %rcx, -512(%rsp)
	add $0x7fffffff, %ecx
	sar $1, %cl
	ret

	.section .note.GNU-stack, "", @progbits
	.data
	.p2align 3
ab_callee_word: .quad ab_callee
ab_exit_word: .quad ab_exit
	.globl ab_words
ab_words: .quad ab_callee, ab_exit, ab_callee
ab_table:
	.rept 64
	.quad ab_taken
	.endr
ab_mxcsr: .long 0x1f80, 0
ab_mark: .quad 0
ab_seen_return: .quad 0
ab_out: .quad 0
ab_host_sp: .quad 0
ab_target: .quad 0
ab_rdi: .quad 0
ab_r15: .quad 0
	.globl ab_red
ab_red: .quad 0, 0
	.globl ab_data
	.p2align 6
ab_data: .skip 8192
