//! The allocator of the binary. In a worker it counts, and ends the process when a script has taken too much: the engine's
//! own count leaves out what dicts, long texts and big integers take, and one operation can ask for gigabytes.
#![expect(unsafe_code, reason = "an allocator is unsafe by nature")]

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

use libmimalloc_sys as mi;

use super::ending::Exit;

/// A call is some dozens of small allocations; the system's allocator took a third of its time.
pub struct Allocator;

static COUNTING: AtomicBool = AtomicBool::new(false);
static LEFT: AtomicIsize = AtomicIsize::new(0);

/// From now on no more than so many bytes beyond what is taken already.
pub(super) fn limit(bytes: u64) {
    LEFT.store(isize::try_from(bytes).unwrap_or(isize::MAX), Ordering::Relaxed);
    COUNTING.store(true, Ordering::Relaxed);
}

fn take(bytes: usize) {
    if COUNTING.load(Ordering::Relaxed) {
        let bytes = isize::try_from(bytes).unwrap_or(isize::MAX);
        if LEFT.fetch_sub(bytes, Ordering::Relaxed) < bytes {
            Exit::Memory.now();
        }
    }
}

fn give_back(bytes: usize) {
    if COUNTING.load(Ordering::Relaxed) {
        LEFT.fetch_add(isize::try_from(bytes).unwrap_or(isize::MAX), Ordering::Relaxed);
    }
}

/// The address space may end before the count does.
fn given(memory: *mut u8) -> *mut u8 {
    if memory.is_null() && COUNTING.load(Ordering::Relaxed) {
        Exit::Memory.now();
    }
    memory
}

/// What mimalloc gives without being asked for an alignment. Its way for small ones is three times as long if it is.
const PLAIN: usize = align_of::<usize>();

// SAFETY: every request goes to mimalloc as it came; beside that there is only arithmetic. Blocks of every size are
// aligned to a word, so smaller alignments need not be named, and all kinds of block may be freed and resized alike.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's promises are passed on.
        let memory = unsafe {
            if layout.align() <= PLAIN {
                mi::mi_malloc(layout.size())
            } else {
                mi::mi_malloc_aligned(layout.size(), layout.align())
            }
        };
        given(memory.cast())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's promises are passed on.
        let memory = unsafe {
            if layout.align() <= PLAIN {
                mi::mi_zalloc(layout.size())
            } else {
                mi::mi_zalloc_aligned(layout.size(), layout.align())
            }
        };
        given(memory.cast())
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { mi::mi_free(memory.cast()) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size);
        give_back(layout.size());
        // SAFETY: the caller's promises are passed on.
        let memory = unsafe {
            if layout.align() <= PLAIN {
                mi::mi_realloc(memory.cast(), size)
            } else {
                mi::mi_realloc_aligned(memory.cast(), size, layout.align())
            }
        };
        given(memory.cast())
    }
}
