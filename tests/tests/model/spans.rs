//! What is said of requests to a subscriber.
