/*
 * What signals do to scry record.
 *
 * They are blocked everywhere and read by one thread, so there are no handlers and no globals.
 *
 * Without a command: the first SIGINT, SIGTERM or SIGHUP sets `stop`; a second SIGINT kills us.
 * With a command: what the terminal sends has reached it already (it is in our process group), so
 * only what others send to us is forwarded. It decides when to end, and we end after it.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/clock.h"
#include "cli/signals.h"

/*
 * timeout(1) and others send a signal to the process and then to its group: two that come together
 * are one.
 */
#define AGAIN_NS (250 * NSEC_PER_MSEC)

static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};
static const int forwarded[] = {SIGINT,	 SIGTERM, SIGHUP,   SIGQUIT, SIGUSR1,
				SIGUSR2, SIGTSTP, SIGWINCH, SIGCONT};

static bool is_ignored(int number)
{
	struct sigaction now;

	return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

void signals_block(struct signals *s, bool command)
{
	const int *list = command ? forwarded : stopping;
	size_t n = command ? ARRAY_SIZE(forwarded) : ARRAY_SIZE(stopping);
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	memset(s, 0, sizeof(*s));
	s->fd = s->quit = s->pidfd = -1;
	s->no_interrupt = is_ignored(SIGINT);
	sigemptyset(&s->set);
	for (size_t i = 0; i < n; i++) {
		/* nohup means it */
		if (list[i] != SIGHUP || !is_ignored(SIGHUP))
			sigaddset(&s->set, list[i]);
	}
	sigprocmask(SIG_BLOCK, &s->set, &s->old);
	sigaction(SIGPIPE, &ignore, &s->old_pipe);
	sigaction(SIGXFSZ, &ignore, &s->old_size);
}

/* Does to us what the signal does to a program that knows nothing of it. */
static void suffer(int number)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t one;

	sigaction(number, &action, NULL);
	sigemptyset(&one);
	sigaddset(&one, number);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	raise(number);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
}

/*
 * Did the terminal send it, to all of our process group? It sends SIGHUP to the leader of the
 * session only.
 */
static bool of_terminal(const struct signalfd_siginfo *info)
{
	if (info->ssi_signo == SIGHUP && getsid(0) == getpid())
		return false;
	return info->ssi_code == SI_KERNEL;
}

static void on_stop(struct signals *s, const struct signalfd_siginfo *info)
{
	int number = (int)info->ssi_signo;
	uint64_t now = clock_mono();

	if (number == SIGINT && s->no_interrupt && of_terminal(info))
		return;
	if (s->stop && number == SIGINT && now - s->stopped > AGAIN_NS)
		suffer(number);
	if (!s->stop) {
		s->stopped = now;
		s->stop = 1;
	}
}

static void on_forward(struct signals *s, const struct signalfd_siginfo *info)
{
	bool own = info->ssi_code <= 0 && (pid_t)info->ssi_pid == s->command;
	int number = (int)info->ssi_signo;

	if (!own && !of_terminal(info))
		syscall(SYS_pidfd_send_signal, s->pidfd, number, NULL, 0);
	if (number == SIGTSTP)
		suffer(number);
}

static void *thread(void *arg)
{
	struct signals *s = arg;
	struct pollfd fds[] = {{s->fd, POLLIN, 0}, {s->quit, POLLIN, 0}};
	struct signalfd_siginfo info;

	for (;;) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return NULL;
		if (fds[1].revents)
			return NULL;
		if (!(fds[0].revents & POLLIN) || read(s->fd, &info, sizeof(info)) != sizeof(info))
			continue;
		if (s->command)
			on_forward(s, &info);
		else
			on_stop(s, &info);
	}
}

int signals_start(struct signals *s, pid_t command)
{
	int err;

	s->command = command;
	s->fd = signalfd(-1, &s->set, SFD_CLOEXEC);
	s->quit = eventfd(0, EFD_CLOEXEC);
	if (command)
		s->pidfd = (int)syscall(SYS_pidfd_open, command, 0);
	if (s->fd < 0 || s->quit < 0 || (command && s->pidfd < 0))
		return -errno;
	err = pthread_create(&s->thread, NULL, thread, s);
	s->running = err == 0;
	return -err;
}

void signals_end(struct signals *s)
{
	const uint64_t one = 1;

	if (s->running && write(s->quit, &one, sizeof(one)) == sizeof(one))
		pthread_join(s->thread, NULL);
	s->running = false;
	if (s->fd >= 0)
		close(s->fd);
	if (s->quit >= 0)
		close(s->quit);
	if (s->pidfd >= 0)
		close(s->pidfd);
	s->fd = s->quit = s->pidfd = -1;
}
