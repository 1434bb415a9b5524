import { nextAction } from './next-action.js';

const START = new Date('2026-11-20T12:00:00Z');
const later = (seconds: number): Date => new Date(START.getTime() + seconds * 1000);
const unread = { deadlineAt: later(3600), waitingSince: START, pageStart: 10, rowsReturned: 10, isReadOn: false };
const read = { ...unread, rowsReturned: 20 };

describe('nextAction', () => {
  it.each([
    ['nothing waits', { ...unread, waitingSince: null }, 1, 'resume'],
    ['rows wait', unread, 299.999, 'wait'],
    ['rows wait for too long', unread, 300, 'abandon'],
    ['rows were handed out just now', read, 4.999, 'wait'],
    ['rows were handed out a while ago', read, 5, 'fetch-next'],
    ['a reader waits for the rows that wait', { ...unread, isReadOn: true }, 300, 'wait'],
    ['a reader waits for the rows after those', { ...read, isReadOn: true }, 5, 'wait'],
    ['the time is over while a reader waits', { ...unread, isReadOn: true }, 3600, 'expire'],
    ['the time is over', { ...unread, waitingSince: null }, 3600, 'expire'],
    ['the time is over while rows wait', { ...read, waitingSince: later(3599) }, 3600, 'expire'],
  ])('%s', (_, state, seconds, action) => {
    expect(nextAction(state, later(seconds))).toBe(action);
  });
});
