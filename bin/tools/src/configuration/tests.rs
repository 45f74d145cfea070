mod example;
mod files;
mod identity;
mod messages;
mod precedence;
mod reload;
