"""Makes the packages of `packages/build`, one module for each kind. None of them needs a tool beside Python."""
