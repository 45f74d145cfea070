mod example;
mod files;
mod messages;
mod precedence;
mod reload;
