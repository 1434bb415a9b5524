// Preloaded into a measured process: answers the message 'heap' with the bytes in use after a collection.
process.on('message', (message) => {
  if (message !== 'heap') return;
  globalThis.gc?.();
  process.send?.({ heap: process.memoryUsage().heapUsed });
});
