# SPDX-License-Identifier: MIT
# Sessions in the virtual machine of tests/vm/examples: started, watched until they have said what they must, ended.
export PATH=/bin
cd /
ROUNDS=40 # at most

# A disk with a file system and one without, a network, huge pages; the work, round by round.
prepare()
{
	for m in configfs null_blk crc16 crc32c_generic mbcache jbd2 ext4 dummy; do
		[ ! -e $m.ko ] || insmod $m.ko $([ $m != null_blk ] || echo nr_devices=0)
	done
	mount -t configfs none /sys/kernel/config
	for d in nullb0 nullb1; do
		disk=/sys/kernel/config/nullb/$d
		mkdir $disk
		for set in memory_backed=1 size=64 irqmode=2 completion_nsec=1000000 hw_queue_depth=2; do
			echo ${set#*=} >$disk/${set%=*}
		done
		[ $d != nullb0 ] || echo 0 >$disk/queue_mode # the one kind has requests, the other has not
		echo 1 >$disk/power
	done
	echo mq-deadline >/sys/block/nullb1/queue/scheduler
	mke2fs /dev/nullb0 >/dev/null
	mkdir /disk
	mount -t ext4 /dev/nullb0 /disk
	echo watched >/disk/watched
	mkdir -p /usr/bin
	printf '#!/bin/sh\necho stack of $1\n' >/usr/bin/pstack
	printf '#!/bin/sh\necho stap is told $*\n' >/bin/stap
	chmod 755 /usr/bin/pstack /bin/stap
	ip link set lo up
	ip addr add 10.9.9.1/24 dev dummy0
	ip link set dummy0 up
	echo 8 >/proc/sys/vm/nr_hugepages
	busy # whose first time may switch what the kernel has in its text
	ktext keep before
	echo 0 >rounds
	work_on &
	worker=$!
}

work_on()
{
	n=0
	while [ ! -e stop ]; do
		busy >busy.err 2>&1 || cat busy.err >>busy.bad
		n=$((n + 1))
		echo $n >rounds.new
		mv rounds.new rounds
	done
}

# Not only time passes: the console's interrupts are what a script counts.
pause()
{
	printf '\r' >/dev/console
	usleep 50000
}

start() # NAME, and words for trapless-run
{
	name=$1
	shift
	typed=$name.typed
	[ -e $typed ] || typed=/dev/null
	trapless-run -v $name.tap "$@" >$name.out 2>$name.err <$typed &
	echo $! >$name.pid
}

runs()
{
	kill -0 $(cat $1.pid) 2>/dev/null
}

armed()
{
	grep -qs 'probes armed in 1 processes' $1.err || ! runs $1
}

# What its files tell, where it has some.
read_files()
{
	[ -e $1.files ] || return
	for file in $(cat $1.files); do
		! runs $1 || timeout 60 cat /tmp/trapless-0/$(cat $1.pid)/procfs/$file >>$1.read
	done
}

has_said()
{
	cat $1.out $1.read 2>/dev/null
}

says()
{
	while read -r pattern; do
		has_said $1 | grep -aqE -e "$pattern" || return 1
	done <$1.says
}

# Until all have said what they must. Some say it at their end only, so one round is enough for those whom nobody waits for.
wait_for() # ROUND NAME ...
{
	last=$1
	shift
	for name; do
		while read_files $name; ! says $name && runs $name && [ $(cat rounds) -lt $last ]; do
			pause
		done
	done
}

watch() # NAME ...; $live: those of them that speak before their end
{
	for name; do
		until armed $name; do pause; done
	done
	first=$(cat rounds)
	until [ $(cat rounds) -ge $((first + 2)) ]; do pause; done
	wait_for $((first + ROUNDS)) $live
	for name; do
		kill -INT $(cat $name.pid) 2>/dev/null
	done
	for name; do
		tell $name
	done
}

tell()
{
	wait $(cat $1.pid)
	status=$?
	echo "%%%% $1"
	echo "status $status"
	grep -aE '^ERROR|trapless-run: (the|cannot|this)' $1.err | head -n 5
	while read -r pattern; do
		has_said $1 | grep -aE -m 1 -e "$pattern"
	done <$1.says
	if ! says $1; then
		has_said $1 | tail -n 12
		tail -n 12 $1.err
	fi
	rm -f $1.out $1.err $1.read
}

finish()
{
	touch stop
	wait $worker
	umount /disk
	echo "%%%% work"
	[ ! -e busy.bad ] || sort -u busy.bad
	echo "%%%% text"
	ktext same before
}
