/* The library of all compiled modules, and the table of what is in it.

Cython translates each .pyx file to a C file with a function PyInit_..., which describes the
module. Python would look for it in a library of the module's own. All of ours are in one: what
190 libraries repeat takes a fifth of their size, and 3 MB of memory in each process.
tensorlab/_finder.py gives Python the modules from here.

setup.py writes compiled_modules.h, a line MODULE(name, init) for each module, and compiles this
file again for each capability, with the modules that have a build for it. */

#include <Python.h>

#define MODULE(name, init) PyObject *init(void);
#include "compiled_modules.h"
#undef MODULE

static const struct {
    const char *name;
    PyObject *(*init)(void);
} table[] = {
#define MODULE(name, init) {name, init},
#include "compiled_modules.h"
};

static const Py_ssize_t table_length = sizeof(table) / sizeof(*table);

static PyObject *places(PyObject *self, PyObject *unused) {
    PyObject *found = PyDict_New();
    for (Py_ssize_t place = 0; found && place < table_length; place++) {
        PyObject *number = PyLong_FromSsize_t(place);
        if (!number || PyDict_SetItemString(found, table[place].name, number) < 0)
            Py_CLEAR(found);
        Py_XDECREF(number);
    }
    return found;
}

/* The two steps in which Python makes a module of a definition (PEP 489). */
static PyObject *create(PyObject *self, PyObject *arguments) {
    Py_ssize_t place;
    PyObject *spec;
    if (!PyArg_ParseTuple(arguments, "nO:create", &place, &spec))
        return NULL;
    if (place < 0 || place >= table_length)
        return PyErr_Format(PyExc_IndexError, "place %zd of %zd", place, table_length);
    PyObject *definition = table[place].init();
    return definition ? PyModule_FromDefAndSpec((PyModuleDef *)definition, spec) : NULL;
}

static PyObject *execute(PyObject *self, PyObject *module) {
    PyModuleDef *definition = PyModule_GetDef(module);
    if (!definition) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "execute() takes what create() has returned");
        return NULL;
    }
    if (PyModule_ExecDef(module, definition) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- the processor */
#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

/* Asks the processor and the operating system for what the flags of setup.py's CAPABILITIES let a compiler use. */
static int level_of_processor(void) {
    unsigned int a, b, c, d;
    __builtin_cpu_init();
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_F16C))     /* older compilers' cpu_supports does not know f16c */
        return 0;
    if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
          && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")))
        return 0;
    if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
          && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq")
          && __builtin_cpu_supports("avx512vl")))
        return 1;
    return 2;
}

/* Family 0x19 with AVX-512. */
static int is_zen4(void) {
    unsigned int a, b, c, d;
    return level_of_processor() == 2 && __get_cpuid(1, &a, &b, &c, &d)
        && ((a >> 8) & 15) + ((a >> 20) & 255) == 0x19;
}
#else
static int level_of_processor(void) { return 0; }
static int is_zen4(void) { return 0; }
#endif

static PyObject *processor_level(PyObject *self, PyObject *unused) {
    return PyLong_FromLong(level_of_processor());
}

static PyObject *compresses_slowly(PyObject *self, PyObject *unused) {
    return PyBool_FromLong(is_zen4());
}

/* ---------------------------------------------------------------- what Python sees */
static PyMethodDef functions[] = {
    {"places", places, METH_NOARGS, "Return {name of a module: its place in the table}."},
    {"create", create, METH_VARARGS, "Make the module at a place, still empty, for a ModuleSpec."},
    {"execute", execute, METH_O, "Fill a module that `create` has made."},
    {"processor_level", processor_level, METH_NOARGS,
     "Return the index in tensorlab._finder.LEVELS of what this processor can run."},
    {"compresses_slowly", compresses_slowly, METH_NOARGS,
     "Is this a Zen 4, which takes a hundred cycles and more to store the lanes of a vector that a mask selects?"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef library = {PyModuleDef_HEAD_INIT, "_compiled", NULL, 0, functions};

PyMODINIT_FUNC INIT_OF_LIBRARY(void) { return PyModuleDef_Init(&library); }
