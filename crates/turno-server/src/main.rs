//! The program `turno`.

/// Replaces the C library's allocator, in which the threads of a busy server waited for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    turno_server::main()
}
