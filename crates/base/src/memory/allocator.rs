//! The global allocator: mimalloc, with a count per thread and a limit in sandbox workers. Memory is counted here because
//! the Starlark engine's own count leaves out dicts and big integers.
#![expect(unsafe_code, reason = "an allocator is unsafe by nature")]

use std::alloc::{GlobalAlloc, Layout};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

use libmimalloc_sys as mi;

use super::count;

/// Forwards to mimalloc: with the system's allocator, the dozens of small allocations of a call took a third of its time.
pub struct Allocator;

static IS_LIMITED: AtomicBool = AtomicBool::new(false);
static REMAINING: AtomicIsize = AtomicIsize::new(0);
static EXCEEDED: OnceLock<fn() -> !> = OnceLock::new();

/// Limits the heap to this many bytes beyond what is allocated now. A process that exceeds the limit ends at once: by
/// `exceeded`, which must not allocate.
pub fn limit(bytes: u64, exceeded: fn() -> !) {
    // A process has one limit.
    let _ = EXCEEDED.set(exceeded);
    REMAINING.store(isize::try_from(bytes).unwrap_or(isize::MAX), Ordering::Relaxed);
    IS_LIMITED.store(true, Ordering::Relaxed);
}

/// Returns the memory that this thread has freed to the system now; by itself the allocator keeps some of it for later.
pub fn give_back() {
    // SAFETY: it takes a flag, and is safe on every thread.
    unsafe { mi_collect(true) }
}

unsafe extern "C" {
    /// A function of mimalloc's own interface that the crate declares with a feature only.
    fn mi_collect(force: bool);
}

fn end_process() -> ! {
    match EXCEEDED.get() {
        Some(exceeded) => exceeded(),
        None => std::process::abort(),
    }
}

#[inline]
fn count_allocation(bytes: usize) {
    count::add(bytes.cast_signed());
    if IS_LIMITED.load(Ordering::Relaxed) {
        let bytes = isize::try_from(bytes).unwrap_or(isize::MAX);
        if REMAINING.fetch_sub(bytes, Ordering::Relaxed) < bytes {
            end_process();
        }
    }
}

#[inline]
fn count_release(bytes: usize) {
    count::add(-bytes.cast_signed());
    if IS_LIMITED.load(Ordering::Relaxed) {
        REMAINING.fetch_add(isize::try_from(bytes).unwrap_or(isize::MAX), Ordering::Relaxed);
    }
}

/// Ends a limited process whose address space is used up before the limit is reached.
fn checked(memory: *mut u8) -> *mut u8 {
    if memory.is_null() && IS_LIMITED.load(Ordering::Relaxed) {
        end_process();
    }
    memory
}

/// The alignment of every block of mimalloc. Its functions that take an alignment are three times as slow for small blocks.
const DEFAULT_ALIGNMENT: usize = align_of::<usize>();

// SAFETY: every request is forwarded to mimalloc unchanged; the rest is arithmetic. Blocks of every size are aligned to a
// word, so smaller alignments need not be passed, and every block may be freed and resized by the same functions.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_allocation(layout.size());
        // SAFETY: the caller upholds the contract of `GlobalAlloc`, which is mimalloc's.
        let memory = unsafe {
            if layout.align() <= DEFAULT_ALIGNMENT {
                mi::mi_malloc(layout.size())
            } else {
                mi::mi_malloc_aligned(layout.size(), layout.align())
            }
        };
        checked(memory.cast())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_allocation(layout.size());
        // SAFETY: the caller upholds the contract of `GlobalAlloc`, which is mimalloc's.
        let memory = unsafe {
            if layout.align() <= DEFAULT_ALIGNMENT {
                mi::mi_zalloc(layout.size())
            } else {
                mi::mi_zalloc_aligned(layout.size(), layout.align())
            }
        };
        checked(memory.cast())
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count_release(layout.size());
        // SAFETY: the caller upholds the contract of `GlobalAlloc`, which is mimalloc's.
        unsafe { mi::mi_free(memory.cast()) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_allocation(size);
        count_release(layout.size());
        // SAFETY: the caller upholds the contract of `GlobalAlloc`, which is mimalloc's.
        let memory = unsafe {
            if layout.align() <= DEFAULT_ALIGNMENT {
                mi::mi_realloc(memory.cast(), size)
            } else {
                mi::mi_realloc_aligned(memory.cast(), size, layout.align())
            }
        };
        checked(memory.cast())
    }
}
