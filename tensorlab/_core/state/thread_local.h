/* Before a variable: each thread has its own. */
#ifndef TL_THREAD_LOCAL_H
#define TL_THREAD_LOCAL_H
#if defined(_MSC_VER)
#define TL_THREAD __declspec(thread)
#else
#define TL_THREAD __thread
#endif
#endif
