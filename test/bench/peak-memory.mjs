// Loaded before a program (`node --import`): says at its end how much memory it had at most.
process.on('exit', () => process.stderr.write(`peak ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB\n`));
