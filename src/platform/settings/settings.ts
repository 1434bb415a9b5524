import type { parseSettings } from './settings-parser.js';

type ParsedSettings = ReturnType<typeof parseSettings>['settings'];

/** All settings, parsed once at the start and frozen. Names and meanings: `.env.example`. */
export abstract class Settings extends (Object as unknown as new () => ParsedSettings) {}
