//! The store: what all its homes do, and what a Redis that goes away does to it.

mod every_home;
mod outage;
