/** What is used here of the standard's namespace, which the types of Node leave to those of browsers. */
declare namespace WebAssembly {
  const Module: new (bytes: Uint8Array) => object;
  const Instance: new (module: object) => { readonly exports: object };
}
