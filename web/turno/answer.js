// Answers of the server and their errors.

// @ts-check
/** @import { Problem } from '../turno.js' */

/** Parses JSON; returns null for anything else, such as the error page of a proxy. @param {string} text */
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A refusal or an error of the server. `problem` is its document (RFC 9457), `code` the stable code. */
export class TurnoError extends Error {
  /**
   * @param {number} status
   * @param {Problem | null} problem
   */
  constructor(status, problem) {
    super(problem?.detail || problem?.title || `HTTP ${status}`);
    this.name = 'TurnoError';
    this.status = status;
    this.code = problem?.code ?? null;
    this.problem = problem ?? null;
  }
}
