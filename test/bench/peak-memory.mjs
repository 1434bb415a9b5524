// Loaded before a program (`node --import`): reports its peak memory at the end.
process.on('exit', () => process.stderr.write(`peak ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB\n`));
