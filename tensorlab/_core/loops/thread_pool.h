/* One pool of threads for everything that tensorlab computes in parallel.

   A job is a body to be called for ranges of a count. The caller of tl_share_out takes part as thread 0; the pool's
   workers are threads 1, 2, ...  Each has pieces of its own and takes others' when it has finished them, so that the caller
   need not wait for a worker that is still asleep or has lost its processor to another program:

       count    |-------+-------+-------|-------+-------+-------|
                 0       1       2       3       4       5         pieces
                 thread 0's              thread 1's

   There is one job at a time. A caller that comes meanwhile, from inside a body or from another Python thread, does its work
   alone. A worker waits for the next job in a short loop first, then asleep. OpenMP's threads spin for milliseconds, which
   only an environment variable changes, read when its library is loaded.

   Leaves out: choosing how many threads a job is worth; that is done in parallel.pyx. */

#ifndef TENSORLAB_THREAD_POOL_H
#define TENSORLAB_THREAD_POOL_H

#include <stddef.h>

typedef void (*tl_range_body)(void *context, ptrdiff_t begin, ptrdiff_t end);

enum { TL_MAX_THREADS = 256 };

#ifdef TENSORLAB_NO_THREADS

static void tl_open_pool(void) {}
static int tl_can_share(void) { return 0; }

static void tl_share_out(tl_range_body body, void *context, ptrdiff_t count, int threads, int pieces,
                         int processors) {
    (void)threads, (void)pieces, (void)processors;
    body(context, 0, count);
}

#else

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

enum {
    TL_CACHE_LINE = 64,
    TL_STACK = 4 << 20,         /* bytes; only what is touched takes memory */
    TL_SPIN = 50000             /* nanoseconds for which a thread looks for work, or for the last worker, before it sleeps */
};

/* ---------------------------------------------------------------- the job */
/* The gate lets workers in: how many are inside (the lowest 16 bits), whether it is open, and the number of the job. A worker
   enters by comparing and swapping all three, so that it cannot join a job that it has not seen. The job is written while
   the gate is closed and the last worker has left. */
enum { TL_INSIDE = 0xffff, TL_OPEN = 1 << 16, TL_NEXT = 1 << 17 };

static struct {
    tl_range_body body;
    void *context;
    ptrdiff_t count;
    int threads, pieces;                                                /* pieces of each thread */
    struct { _Alignas(TL_CACHE_LINE) atomic_int taken; } share[TL_MAX_THREADS];     /* how many of them are taken */
} tl_job;

static _Alignas(TL_CACHE_LINE) atomic_uint tl_gate;
static _Alignas(TL_CACHE_LINE) atomic_flag tl_busy = ATOMIC_FLAG_INIT;  /* work is being shared out */
static int tl_hired;                                                    /* how many workers there are */
static atomic_int tl_is_child;                                          /* of a process whose workers a fork has left behind */

/* Where piece i of n begins; in a long row at a multiple of 64 elements, so that no two threads write one cache line. */
static ptrdiff_t tl_boundary(ptrdiff_t count, ptrdiff_t n, ptrdiff_t i) {
    ptrdiff_t whole = count / n, rest = count % n, at = whole * i + (i < rest ? i : rest);
    return whole < 4096 || i == n ? at : at & ~(ptrdiff_t)63;
}

/* Take pieces until all are taken: thread `me`'s first. */
static void tl_work(int me) {
    ptrdiff_t n = (ptrdiff_t)tl_job.threads * tl_job.pieces;
    for (int k = 0; k < tl_job.threads; k++) {
        int owner = (me + k) % tl_job.threads, i;
        while ((i = atomic_fetch_add(&tl_job.share[owner].taken, 1)) < tl_job.pieces) {
            ptrdiff_t piece = (ptrdiff_t)owner * tl_job.pieces + i;
            tl_job.body(tl_job.context, tl_boundary(tl_job.count, n, piece),
                        tl_boundary(tl_job.count, n, piece + 1));
        }
    }
}

/* ---------------------------------------------------------------- waiting */
/* A thread that goes to sleep says so, looks once more, and sleeps; a thread that has news for it writes them first, and then
   looks whether it sleeps. All of these are sequentially consistent, so one of the two sees the other; the mutex keeps the news from
   falling between the last look and the sleep. */
typedef struct {
    _Alignas(TL_CACHE_LINE) atomic_int is_asleep;
    pthread_cond_t news;
} tl_sleeper;

static tl_sleeper tl_sleepers[TL_MAX_THREADS];      /* 0: the caller */
static pthread_mutex_t tl_mutex = PTHREAD_MUTEX_INITIALIZER;

static int64_t tl_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void tl_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Is there what a thread waits for? The caller: that no one is inside. A worker: an open job after number `seen`. */
static int tl_has_news(int me, unsigned seen) {
    unsigned gate = atomic_load(&tl_gate);
    return me == 0 ? (gate & TL_INSIDE) == 0 : (gate & TL_OPEN) && gate / TL_NEXT != seen;
}

static void tl_wait(int me, unsigned seen) {
    int64_t end = 0;
    for (int i = 1; !tl_has_news(me, seen); i++) {
        tl_pause();
        if (i % 32 == 0) {
            int64_t now = tl_now();
            if (end == 0)
                end = now + TL_SPIN;
            if (now > end)
                break;
        }
    }
    if (tl_has_news(me, seen))
        return;
    pthread_mutex_lock(&tl_mutex);
    atomic_store(&tl_sleepers[me].is_asleep, 1);
    while (!tl_has_news(me, seen))
        pthread_cond_wait(&tl_sleepers[me].news, &tl_mutex);
    atomic_store(&tl_sleepers[me].is_asleep, 0);
    pthread_mutex_unlock(&tl_mutex);
}

static void tl_wake(int who) {
    if (atomic_load(&tl_sleepers[who].is_asleep)) {
        pthread_mutex_lock(&tl_mutex);
        pthread_cond_signal(&tl_sleepers[who].news);
        pthread_mutex_unlock(&tl_mutex);
    }
}

/* ---------------------------------------------------------------- workers */
static void *tl_worker(void *argument) {
    int me = (int)(intptr_t)argument;
    unsigned seen = 0;                              /* the first job has number 1 */
    for (;;) {
        tl_wait(me, seen);
        unsigned gate = atomic_load(&tl_gate);
        while (gate & TL_OPEN) {
            if (atomic_compare_exchange_weak(&tl_gate, &gate, gate + 1)) {
                seen = gate / TL_NEXT;
                if (me < tl_job.threads)
                    tl_work(me);
                if (((atomic_fetch_sub(&tl_gate, 1) - 1) & TL_INSIDE) == 0)
                    tl_wake(0);
                break;
            }
        }
    }
    return NULL;
}

/* Have `wanted` workers if the system gives them; called by the thread that shares work out. Fewer do no harm. */
static void tl_hire(int wanted) {
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    if (tl_hired >= wanted)
        return;
    sigfillset(&all);                               /* signals are for Python's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, TL_STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    while (tl_hired < wanted) {
        pthread_cond_init(&tl_sleepers[tl_hired + 1].news, NULL);
        if (pthread_create(&thread, &attributes, tl_worker, (void *)(intptr_t)(tl_hired + 1)) != 0)
            break;
        tl_hired++;
    }
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---------------------------------------------------------------- sharing out */
/* A fork copies no threads. A child of a process that had no workers yet may hire its own. */
static void tl_after_fork(void) {
    atomic_store(&tl_is_child, tl_hired > 0);
}

static void tl_open_pool(void) {
    pthread_cond_init(&tl_sleepers[0].news, NULL);
    pthread_atfork(NULL, NULL, tl_after_fork);
}

static int tl_can_share(void) {
    return !atomic_load_explicit(&tl_is_child, memory_order_relaxed);
}

/* Call the body for ranges that together are 0 to `count`, `pieces` of them for each thread. No more than `processors` threads
   work at a time: others would only wait for a processor. */
static void tl_share_out(tl_range_body body, void *context, ptrdiff_t count, int threads, int pieces,
                         int processors) {
    if (!tl_can_share() || atomic_flag_test_and_set(&tl_busy)) {
        body(context, 0, count);
        return;
    }
    int helpers = (threads < processors ? threads : processors) - 1;
    tl_hire(helpers);
    tl_job.body = body, tl_job.context = context, tl_job.count = count;
    tl_job.threads = threads, tl_job.pieces = pieces;
    for (int i = 0; i < threads; i++)
        atomic_store_explicit(&tl_job.share[i].taken, 0, memory_order_relaxed);
    atomic_store(&tl_gate, atomic_load(&tl_gate) + TL_NEXT + TL_OPEN);
    for (int i = 1; i <= helpers; i++)
        tl_wake(i);
    tl_work(0);
    atomic_fetch_sub(&tl_gate, TL_OPEN);
    tl_wait(0, 0);
    atomic_flag_clear(&tl_busy);
}

#endif
#endif
